/** Options and help of commands, and subcommands such as `orch backup save`. */
import { stderr, stdout } from 'node:process';
import { helpText } from '#daemon/options/help.js';
import { nearNames } from '#daemon/options/near-names.js';
import { OptionsError, type OptionTable, type OptionValues } from '#daemon/options/option.js';
import { type ParsedOptions, type ParseSettings, parseOptions } from '#daemon/options/parse.js';

interface CommandSettings extends ParseSettings {
  readonly description: string;
  /** The program with placeholders of its arguments, for the help; `program` when absent. */
  readonly synopsis?: string;
}

/** Parses the options of a command and prints the warnings. Undefined after it printed the help. Throws an OptionsError. */
export function commandOptions<T extends OptionTable>(
  table: T,
  argv: readonly string[],
  settings: CommandSettings,
): ParsedOptions<T> | undefined {
  const parsed = parseOptions(table, argv, { ...settings, plainWords: true });
  if (parsed.kind !== 'run') {
    const { description, program, synopsis = program } = settings;
    stdout.write(helpText(table, { program: synopsis, description }));
    return undefined;
  }
  for (const warning of parsed.warnings) stderr.write(`Warning: ${warning}\n`);
  return parsed;
}

export interface Subcommand<T extends OptionTable> {
  readonly table: T;
  readonly description: string;
  /** Placeholder of its one argument; absent: it takes options only. */
  readonly argument?: string;
  run(input: SubcommandInput<T>): Promise<number>;
}

export interface SubcommandInput<T extends OptionTable> {
  readonly values: OptionValues<T>;
  readonly given: ReadonlySet<string>;
  /** Empty for a command without an argument. */
  readonly argument: string;
}

type Subcommands<Tables extends Record<string, OptionTable>> = { [Name in keyof Tables]: Subcommand<Tables[Name]> };

/**
 * Resolves with the exit code. Rejects with an OptionsError, and with the error of the command.
 * @param program `orch backup`
 * @param help Printed when no subcommand is named.
 */
export async function runSubcommand<Tables extends Record<string, OptionTable>>(
  program: string,
  help: string,
  argv: readonly string[],
  commands: Subcommands<Tables>,
): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    stdout.write(help);
    return 0;
  }
  if (!Object.hasOwn(commands, name)) {
    const near = nearNames(name, Object.keys(commands));
    const hint = near.length === 0 ? '' : `, did you mean ${near.join(' or ')}?`;
    stderr.write(`${program}: unknown command "${name}"${hint}\n\n${help}`);
    return 2;
  }
  return runOne(`${program} ${name}`, commands[name as keyof Tables], rest);
}

async function runOne<T extends OptionTable>(
  program: string,
  command: Subcommand<T>,
  argv: readonly string[],
): Promise<number> {
  const { table, description, argument } = command;
  const parsed = commandOptions(table, argv, {
    ...{ program, description, allowArgs: argument !== undefined },
    ...(argument === undefined ? {} : { synopsis: `${program} ${argument}` }),
  });
  if (parsed === undefined) return 0;
  const { values, given, args } = parsed;
  if (argument !== undefined && args.length !== 1) throw new OptionsError([`expected one argument, ${argument}`]);
  return command.run({ values, given, argument: args[0] ?? '' });
}
