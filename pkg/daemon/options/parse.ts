/**
 * Parses a command line by an option table.
 *
 * Accepted: `--name=value`, `--name value`, `--bool`, `-x value`, `-xvalue`, `-x=value`; underscores for dashes; `--`
 * ends the options. `-h`, `--help` and `--version` always exist. All errors are reported at once.
 */

import { editDistance } from '#apimachinery/collections/edit-distance.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { deepFreeze } from '#apimachinery/freeze.js';
import { inertFindings } from '#daemon/options/inert.js';
import { type OptionDeclaration, OptionsError, type OptionTable, type OptionValues } from '#daemon/options/option.js';
import { plainFault } from '#daemon/options/plain-words.js';
import { defaultValue, OptionValueError, parseValue } from '#daemon/options/value.js';

export interface ParsedOptions<T extends OptionTable> {
  /** Deep-frozen. */
  readonly values: OptionValues<T>;
  /** Options set on the command line. */
  readonly given: ReadonlySet<string>;
  /** Warnings about deprecated and inert options, to be logged. */
  readonly warnings: readonly string[];
  /** Errors about inert options that protect the cluster, for `validateOptions`. */
  readonly refusals: readonly string[];
  /** Arguments that are not options. */
  readonly args: readonly string[];
}

export type ParseResult<T extends OptionTable> =
  | { readonly kind: 'help' }
  | { readonly kind: 'version'; readonly raw: boolean }
  | ({ readonly kind: 'run' } & ParsedOptions<T>);

export interface ParseSettings {
  /** The program's name, for messages. */
  readonly program: string;
  /** Whether arguments that are not options are allowed. */
  readonly allowArgs?: boolean;
  /** Whether faults of values are said in plain words, instead of those of Go's flag libraries. */
  readonly plainWords?: boolean;
}

interface State {
  readonly table: OptionTable;
  readonly plainWords: boolean;
  readonly shorthands: ReadonlyMap<string, string>;
  readonly aliases: ReadonlyMap<string, string>;
  readonly given: Map<string, unknown>;
  readonly errors: string[];
  readonly args: string[];
  /** Arguments not yet read, the next one last. */
  readonly rest: string[];
  help: boolean;
  version: string | undefined;
}

/** Parses `argv` (without the program itself). Throws OptionsError. */
export function parseOptions<T extends OptionTable>(
  table: T,
  argv: readonly string[],
  settings: ParseSettings,
): ParseResult<T> {
  const state: State = {
    table,
    plainWords: settings.plainWords === true,
    shorthands: new Map(
      Object.entries(table).flatMap(([name, { shorthand }]) => (shorthand === undefined ? [] : [[shorthand, name]])),
    ),
    aliases: new Map(
      Object.entries(table).flatMap(([name, { aliases = [] }]) => aliases.map((alias) => [alias, name])),
    ),
    given: new Map(),
    errors: [],
    args: [],
    rest: [...argv].reverse(),
    help: false,
    version: undefined,
  };
  for (let arg = state.rest.pop(); arg !== undefined; arg = state.rest.pop()) readArgument(state, arg);
  if (state.help) return { kind: 'help' };
  if (settings.allowArgs !== true) {
    // Arguments are checked only if all options are valid.
    if (state.args.length > 0 && state.errors.length === 0) {
      const args = `[${state.args.map(quoted).join(' ')}]`;
      state.errors.push(`${quoted(settings.program)} does not take any arguments, got ${args}`);
    }
  }
  if (state.errors.length > 0) throw new OptionsError(state.errors);
  if (state.version !== undefined) return { kind: 'version', raw: state.version === 'raw' };
  const values: Record<string, unknown> = {};
  for (const [name, declaration] of Object.entries(table)) {
    values[name] = state.given.has(name) ? state.given.get(name) : defaultValue(declaration);
  }
  const { warnings, refusals } = inertFindings(table, state.given);
  return {
    kind: 'run',
    values: deepFreeze(values) as OptionValues<T>,
    given: new Set(state.given.keys()),
    warnings: [...deprecations(table, state.given.keys()), ...warnings],
    refusals,
    args: state.args,
  };
}

function readArgument(state: State, arg: string): void {
  if (arg === '--') {
    while (state.rest.length > 0) state.args.push(state.rest.pop() ?? '');
  } else if (arg.startsWith('--')) readLong(state, arg);
  else if (arg.startsWith('-') && arg !== '-') readShort(state, arg);
  else state.args.push(arg);
}

function readLong(state: State, arg: string): void {
  const at = arg.indexOf('=');
  const written = arg.slice(2, at < 0 ? undefined : at);
  const dashed = written.replaceAll('_', '-');
  const name = state.aliases.get(dashed) ?? dashed;
  const inline = at < 0 ? undefined : arg.slice(at + 1);
  if (written === '') {
    state.errors.push(`bad flag syntax: ${arg}`);
    return;
  }
  const declaration = Object.hasOwn(state.table, name) ? state.table[name] : undefined;
  if (declaration === undefined) {
    readBuiltIn(state, name, inline, arg);
    return;
  }
  const text = inline ?? aloneText(declaration) ?? state.rest.pop();
  if (text === undefined) state.errors.push(`flag needs an argument: --${name}`);
  else setValue(state, name, declaration, text);
}

function aloneText({ type, alone }: OptionDeclaration): string | undefined {
  return type === 'bool' ? 'true' : alone;
}

function readBuiltIn(state: State, name: string, inline: string | undefined, arg: string): void {
  if (name === 'help') state.help = inline !== 'false';
  else if (name === 'version' && inline !== 'false') state.version = inline ?? 'true';
  else if (name !== 'version') {
    const near = nearest(name, [...Object.keys(state.table), ...state.aliases.keys(), 'help', 'version']);
    const hint = near === undefined ? '' : ` (did you mean --${near}?)`;
    state.errors.push(`unknown flag: ${arg.split('=', 1)[0]}${hint}`);
    // A separate value would otherwise be reported as an argument.
    const next = state.rest.at(-1);
    if (inline === undefined && next !== undefined && !next.startsWith('-')) state.rest.pop();
  }
}

function readShort(state: State, arg: string): void {
  const letter = arg.charAt(1);
  if (letter === 'h' && !state.shorthands.has('h')) {
    state.help = true;
    return;
  }
  const name = state.shorthands.get(letter);
  const declaration = name === undefined ? undefined : state.table[name];
  if (name === undefined || declaration === undefined) {
    state.errors.push(`unknown shorthand flag: '${letter}' in ${arg}`);
    return;
  }
  const attached = arg.length > 2 ? arg.slice(arg.charAt(2) === '=' ? 3 : 2) : undefined;
  if (declaration.type === 'bool' && attached !== undefined && arg.charAt(2) !== '=') {
    setValue(state, name, declaration, 'true');
    readShort(state, `-${attached}`);
    return;
  }
  const text = attached ?? aloneText(declaration) ?? state.rest.pop();
  if (text === undefined) state.errors.push(`flag needs an argument: '${letter}' in ${arg}`);
  else setValue(state, name, declaration, text);
}

function setValue(state: State, name: string, declaration: OptionDeclaration, text: string): void {
  try {
    state.given.set(name, parseValue(declaration, text, state.given.get(name)));
  } catch (error) {
    if (!(error instanceof OptionValueError)) throw error;
    if (state.plainWords) {
      state.errors.push(plainFault(name, declaration, text, error.message));
      return;
    }
    const label = declaration.shorthand === undefined ? `--${name}` : `-${declaration.shorthand}, --${name}`;
    state.errors.push(`invalid argument ${quoted(text)} for "${label}" flag: ${error.message}`);
  }
}

function deprecations(table: OptionTable, names: Iterable<string>): string[] {
  return [...names].flatMap((name) => {
    const deprecated = table[name]?.deprecated;
    return deprecated === undefined ? [] : [`Flag --${name} has been deprecated, ${deprecated}`];
  });
}

/** The option name at most two edits away, or one that starts with the written text. */
function nearest(written: string, names: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = 3;
  for (const name of names) {
    const distance = editDistance(written, name, bestDistance);
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  if (best !== undefined || written.length < 4) return best;
  return names.find((name) => name.startsWith(written));
}
