/** From a command line to a running daemon: the only thing that `cmd/<name>/main.ts` calls. */
import { type Clock, realClock } from '#apimachinery/clock.js';
import { type Dialect, dialectByName } from '#apimachinery/dialect.js';
import type { Daemon } from '#daemon/daemon.js';
import { createLogger } from '#daemon/log/create-logger.js';
import type { Logger } from '#daemon/log/logger.js';
import { OptionsError } from '#daemon/options/errors.js';
import { dialectArgument } from '#daemon/options/groups/generic.js';
import { helpText } from '#daemon/options/help.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';
import { type Rule, validateOptions } from '#daemon/options/validate.js';
import { type ProcessSignals, runDaemon } from '#daemon/run-daemon.js';
import { versionText } from '#daemon/version.js';

/** What a daemon is made of, beside its options. */
export interface ProgramContext<T extends OptionTable> extends ParsedOptions<T> {
  readonly dialect: Dialect;
  readonly log: Logger;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Program<T extends OptionTable> {
  readonly name: (dialect: Dialect) => string;
  /** What it does, for `--help`. */
  readonly description: string;
  readonly options: (dialect: Dialect) => T;
  readonly rules?: readonly Rule<OptionValues<T>>[];
  /** Builds the daemon; may read files. Throws OptionsError for what the options cannot mean. */
  readonly create: (context: ProgramContext<T>) => Daemon | Promise<Daemon>;
}

/** What of the process a program touches. */
export interface ProgramProcess extends ProcessSignals {
  /** As Node.js gives it: two entries before the arguments. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly stdout: { write(text: string): unknown; readonly columns?: number };
  readonly stderr: { write(text: string): unknown };
}

/** Runs the program to its end and returns the exit code; ends the process itself only on a second signal. */
export async function run<T extends OptionTable>(program: Program<T>, process: ProgramProcess): Promise<number> {
  const argv = process.argv.slice(2);
  try {
    const dialect = dialectFor(argv);
    const name = program.name(dialect);
    const table = program.options(dialect);
    const parsed = parseOptions(table, argv, { program: name });
    if (parsed.kind === 'help') {
      const { columns } = process.stdout;
      const width = columns === undefined ? {} : { columns: Math.min(columns, 160) };
      process.stdout.write(helpText(table, { program: name, description: program.description, ...width }));
      return 0;
    }
    if (parsed.kind === 'version') {
      process.stdout.write(`${versionText(dialect, parsed.raw)}\n`);
      return 0;
    }
    validateOptions(parsed, program.rules ?? []);
    const log = loggerFor(name, parsed.values, process);
    for (const warning of parsed.warnings) log.warn(warning);
    const clock = realClock;
    const context = { ...parsed, dialect, log, clock, random: Math.random, env: process.env };
    return await runDaemon(await program.create(context), { process, log });
  } catch (error) {
    process.stderr.write(failureText(error, argv.length > 0));
    return 1;
  }
}

function dialectFor(argv: readonly string[]): Dialect {
  try {
    return dialectByName(dialectArgument(argv));
  } catch (error) {
    throw new OptionsError([error instanceof Error ? error.message : String(error)]);
  }
}

/** The logger of the common logging options, where the table has them. */
function loggerFor(name: string, values: object, process: ProgramProcess): Logger {
  const verbosity = 'v' in values && typeof values.v === 'number' ? values.v : 0;
  const format = 'logging-format' in values && values['logging-format'] === 'json' ? 'json' : 'text';
  const { pid, stderr } = process;
  return createLogger({
    name,
    format,
    verbosity,
    pid,
    now: () => realClock.now(),
    write: (line) => stderr.write(line),
  });
}

/** One line per thing that is wrong; a stack only where nobody foresaw the failure. */
function failureText(error: unknown, hint: boolean): string {
  if (error instanceof OptionsError) {
    const lines = error.messages.map((message) => `Error: ${message}\n`).join('');
    return hint ? `${lines}Run with --help for the options.\n` : lines;
  }
  if (!(error instanceof Error)) return `Error: ${String(error)}\n`;
  const unforeseen = error instanceof TypeError || error instanceof ReferenceError;
  return unforeseen ? `Error: ${error.stack ?? error.message}\n` : `Error: ${error.message}\n`;
}
