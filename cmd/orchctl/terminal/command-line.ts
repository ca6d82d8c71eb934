/** Finds the words of a command between flags, which may stand before, between and after them. Pure. */
import type { OptionTable } from '#daemon/options/option.js';

export interface FirstWord {
  readonly word: string;
  /** The command line without the word. */
  readonly rest: readonly string[];
}

/**
 * The first argument that is neither a flag nor the value of one; undefined if there is none before `--`.
 * @param table The flags whose types are certain. The value of another flag is taken for a command if there is one of that
 *   name, since the flag may need no value.
 */
export function firstWord(
  argv: readonly string[],
  table: OptionTable,
  isCommand: (word: string) => boolean,
): FirstWord | undefined {
  for (let i = 0; i < argv.length; i += 1) {
    const arg = argv[i] ?? '';
    if (arg === '--') return undefined;
    if (!arg.startsWith('-') || arg === '-') return { word: arg, rest: [...argv.slice(0, i), ...argv.slice(i + 1)] };
    const next = argv[i + 1];
    if (next !== undefined && takesValue(arg, table, isCommand(next))) i += 1;
  }
  return undefined;
}

function takesValue(arg: string, table: OptionTable, beforeCommand: boolean): boolean {
  if (arg.includes('=')) return false;
  const isLong = arg.startsWith('--');
  // A short flag with its value attached, or several short ones.
  if (!isLong && arg.length > 2) return false;
  const name = isLong ? arg.slice(2).replaceAll('_', '-') : undefined;
  const entry = Object.entries(table).find(([key, { shorthand, aliases = [] }]) =>
    name === undefined ? shorthand === arg.charAt(1) : key === name || aliases.includes(name),
  );
  if (entry === undefined) return arg !== '--help' && arg !== '-h' && arg !== '--version' && !beforeCommand;
  const [, { type, alone }] = entry;
  return type !== 'bool' && alone === undefined;
}
