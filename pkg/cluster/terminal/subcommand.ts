/** Runs subcommands such as `orch backup save`. */
import { stderr, stdout } from 'node:process';
import { helpText } from '#daemon/options/help.js';
import { OptionsError, type OptionTable, type OptionValues } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';

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
    stderr.write(`${program}: unknown command "${name}"\n\n${help}`);
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
  const parsed = parseOptions(table, argv, { program, allowArgs: argument !== undefined });
  if (parsed.kind !== 'run') {
    stdout.write(
      helpText(table, { program: argument === undefined ? program : `${program} ${argument}`, description }),
    );
    return 0;
  }
  for (const warning of parsed.warnings) stderr.write(`Warning: ${warning}\n`);
  const { values, given, args } = parsed;
  if (argument !== undefined && args.length !== 1) throw new OptionsError([`expected one argument, ${argument}`]);
  return command.run({ values, given, argument: args[0] ?? '' });
}
