/** Finds the command, parses its options, runs it, and maps the outcome to an exit code. */

import type { ClientConfig } from '#client/rest/client-config.js';
import type { Api } from '#cmd/orchctl/api/api.js';
import { type Command, type Invocation, type Listed, loaded, named } from '#cmd/orchctl/commands/command.js';
import { completer } from '#cmd/orchctl/commands/completion/completion.js';
import { commandHelp, overview } from '#cmd/orchctl/commands/help.js';
import { globalOptions } from '#cmd/orchctl/commands/options.js';
import { firstWord } from '#cmd/orchctl/terminal/command-line.js';
import { reportOf } from '#cmd/orchctl/terminal/report.js';
import type { Terminal } from '#cmd/orchctl/terminal/terminal.js';
import type { Values } from '#cmd/orchctl/terminal/values.js';
import { nearNames } from '#daemon/options/near-names.js';
import type { OptionTable } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';

const program = 'orchctl';

/** Exit codes: 0 success, 1 failure; commands may add their own (exec: the program's). */
export async function run(commands: readonly Listed[], argv: readonly string[], terminal: Terminal): Promise<number> {
  const words = [program];
  try {
    return await dispatch(commands, argv, terminal, words);
  } catch (error) {
    if (terminal.signal.aborted) return 130;
    const { text, exitCode } = reportOf(error, words.join(' '));
    terminal.err.write(text);
    return exitCode;
  }
}

/** @param words The words of the command so far; further ones are added. */
async function dispatch(
  commands: readonly Listed[],
  argv: readonly string[],
  terminal: Terminal,
  words: string[],
): Promise<number> {
  const first = firstWord(argv, globalOptions, (word) => named(commands, word) !== undefined);
  if (first === undefined || first.word === 'help') {
    const isVersion = first === undefined && argv.includes('--version');
    return isVersion ? dispatch(commands, ['version'], terminal, words) : help(commands, first?.rest ?? [], terminal);
  }
  const listed = first.word === completer(commands).name ? completer(commands) : named(commands, first.word);
  if (listed === undefined) {
    const { pluginFor, runPlugin } = await import('#cmd/orchctl/commands/plugin/programs.js');
    // As in 1.24, the name comes first.
    const plugin = argv[0] === first.word ? pluginFor(argv, terminal.env) : undefined;
    if (plugin !== undefined) return runPlugin(plugin.path, plugin.args, terminal.env);
    terminal.err.write(unknownCommand(commands, first.word));
    return 1;
  }
  words.push(listed.name);
  const { command, rest } = await innermost(await loaded(listed), first.rest, words);
  const path = words.join(' ');
  const end = rest.indexOf('--');
  const table: OptionTable = { ...globalOptions, ...command.options };
  const own = end < 0 ? rest : rest.slice(0, end);
  const parsed = parseOptions(table, own, { program: path, allowArgs: true, plainWords: true });
  if (parsed.kind === 'help') {
    terminal.out.write(commandHelp(command, path));
    return 0;
  }
  if (parsed.kind === 'version') return dispatch(commands, ['version'], terminal, [program]);
  for (const warning of parsed.warnings) terminal.err.write(`${warning}\n`);
  return invoke(command, parsed, { trailing: end < 0 ? [] : rest.slice(end + 1), path }, terminal);
}

/** The subcommand that the arguments name, if the command has any. */
async function innermost(
  command: Command,
  argv: readonly string[],
  words: string[],
): Promise<{ command: Command; rest: readonly string[] }> {
  const { subcommands = [] } = command;
  if (subcommands.length === 0) return { command, rest: argv };
  const table = { ...globalOptions, ...command.options };
  const next = firstWord(argv, table, (word) => named(subcommands, word) !== undefined);
  const listed = next === undefined ? undefined : named(subcommands, next.word);
  if (next === undefined || listed === undefined) return { command, rest: argv };
  words.push(listed.name);
  return innermost(await loaded(listed), next.rest, words);
}

async function help(commands: readonly Listed[], words: readonly string[], { out }: Terminal): Promise<number> {
  const path = [program];
  let command: Command | undefined;
  for (const word of words) {
    const next = named(command === undefined ? commands : (command.subcommands ?? []), word);
    if (next === undefined) break;
    command = await loaded(next);
    path.push(command.name);
  }
  out.write(command === undefined ? overview(commands, program) : commandHelp(command, path.join(' ')));
  return 0;
}

/** The words of release 1.24's command-line library. */
function unknownCommand(commands: readonly Listed[], word: string): string {
  const near = nearNames(
    word,
    commands.map(({ name }) => name),
  );
  const hint = near.length === 0 ? '' : `\n\nDid you mean this?\n${near.map((name) => `\t${name}\n`).join('')}`;
  return `error: unknown command ${JSON.stringify(word)} for "${program}"${hint === '' ? '\n' : hint}`;
}

async function invoke(
  command: Command,
  parsed: ParsedOptions<OptionTable>,
  { trailing, path }: Pick<Invocation, 'trailing' | 'path'>,
  terminal: Terminal,
): Promise<number> {
  const values = valuesOf(parsed);
  const isAboutUser = command.isAboutUser?.({ args: parsed.args, values }) === true;
  const connecting = isAboutUser ? withoutUser(values) : values;
  const isOffline = command.offline === true || command.worksOffline?.(values) === true;
  const { connection, api, failure } = isOffline
    ? { connection: undefined, api: undefined, failure: new Error(`${command.name} works without a server`) }
    : await connect(connecting, values, terminal);
  const invocation: Invocation = {
    ...terminal,
    args: parsed.args,
    trailing,
    values,
    path,
    namespace: values.string('namespace') ?? connection?.namespace ?? 'default',
    get api() {
      if (api === undefined) throw failure;
      return api;
    },
  };
  try {
    return (await command.run(invocation)) ?? 0;
  } finally {
    await api?.close();
  }
}

interface Connected {
  readonly connection: ClientConfig | undefined;
  readonly api: Api | undefined;
  /** Why there is no connection; it matters only to a command that uses the server. */
  readonly failure: unknown;
}

async function connect(connecting: Values, values: Values, terminal: Terminal): Promise<Connected> {
  // Imported on demand: programs without a server start without its client.
  const { apiOf, connectionOf } = await import('#cmd/orchctl/connect.js');
  try {
    const connection = await connectionOf(connecting, terminal);
    return { connection, api: apiOf(connection, values, terminal), failure: undefined };
  } catch (failure) {
    return { connection: undefined, api: undefined, failure };
  }
}

/** The options without those that name a user to impersonate. */
function withoutUser(values: Values): Values {
  const isHidden = (name: string) => name === 'as' || name === 'as-group' || name === 'as-uid';
  return {
    ...values,
    string: (name) => (isHidden(name) ? undefined : values.string(name)),
    strings: (name) => (isHidden(name) ? [] : values.strings(name)),
    isSet: (name) => !isHidden(name) && values.isSet(name),
  };
}

function valuesOf(parsed: ParsedOptions<OptionTable>): Values {
  const value = (name: string): unknown => parsed.values[name];
  return {
    string: (name) => {
      const text = value(name);
      return typeof text === 'string' ? text : undefined;
    },
    strings: (name) => {
      const list = value(name);
      return Array.isArray(list) ? (list as string[]) : [];
    },
    bool: (name) => value(name) === true,
    number: (name) => {
      const number = value(name);
      return typeof number === 'number' ? number : 0;
    },
    map: (name) => {
      const map = value(name);
      return typeof map === 'object' && map !== null ? (map as Record<string, string>) : {};
    },
    isSet: (name) => parsed.given.has(name),
  };
}
