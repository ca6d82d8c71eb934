/** Runs a daemon from a command line; the only function that `cmd/<name>/main.ts` calls. */
import { allowManyListeners } from '#apimachinery/async/abort.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { type Dialect, dialectByName } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import { programLog } from '#daemon/log/program-log.js';
import type { Verbosity } from '#daemon/log/verbosity.js';
import { withShownNames, withSpelledOptions } from '#daemon/options/dialect-names.js';
import { idleGateFindings } from '#daemon/options/groups/feature-gates.js';
import { dialectArgument } from '#daemon/options/groups/generic.js';
import { helpText } from '#daemon/options/help.js';
import type { InertFindings } from '#daemon/options/inert.js';
import { OptionsError, type OptionTable, type OptionValues } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';
import { type Rule, validateOptions } from '#daemon/options/validate.js';
import { versionText } from '#daemon/version.js';

/** What a program builds its daemon from, besides its options. */
export interface ProgramContext<T extends OptionTable> extends ParsedOptions<T> {
  readonly dialect: Dialect;
  readonly log: Logger;
  /** Verbosity of `log`; may be changed. */
  readonly verbosity: Verbosity;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The command line as Node.js gives it. */
  readonly argv: readonly string[];
}

/** `P`: what `configure` returns. */
export interface Program<T extends OptionTable, P extends ParsedOptions<T> = ParsedOptions<T>> {
  readonly name: (dialect: Dialect) => string;
  /** For `--help`. */
  readonly description: string;
  readonly options: (dialect: Dialect) => T;
  readonly rules?: readonly Rule<OptionValues<T>>[];
  /** Feature gates that the daemon uses; it warns about others. Absent for programs without gates. */
  readonly actingGates?: () => readonly string[];
  /** The process is a child of another daemon, which has logged the warnings and logs signals. */
  readonly isWorker?: boolean;
  /** Settings that would protect in vain are warnings, and do not end the start; for tests. */
  readonly isLenient?: boolean;
  /**
   * Completes the options from a configuration file, whose settings for logging act on the first line. Throws
   * OptionsError. Absent: the command line is complete.
   */
  readonly configure?: (parsed: ParsedOptions<T>, dialect: Dialect) => Promise<P>;
  /** Builds the daemon; may read files. Throws OptionsError for invalid combinations. */
  readonly create: (context: ProgramContext<T> & P) => Daemon | Promise<Daemon>;
}

/** The part of the process that a program uses. */
export interface ProgramProcess extends ProcessSignals {
  /** As Node.js gives it: two entries precede the arguments. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly stdout: { write(text: string): unknown; readonly columns?: number };
  readonly stderr: { write(text: string): unknown };
  /** Standard output for log lines, which never fails or fills the memory. Default: `stdout`. */
  readonly logOutput?: () => { write(text: string): unknown };
  /** Sets the log for failures of the process; absent if the process belongs to another program. */
  reportTo?(log: Logger, flush: () => void): void;
}

/** Runs the program to its end and returns the exit code. Only a second signal ends the process directly. */
export async function run<T extends OptionTable, P extends ParsedOptions<T> = ParsedOptions<T>>(
  program: Program<T, P>,
  process: ProgramProcess,
): Promise<number> {
  const argv = process.argv.slice(2);
  let spelled = (text: string) => text;
  try {
    const dialect = dialectFor(argv);
    const name = program.name(dialect);
    const table = program.options(dialect);
    spelled = (text) => withSpelledOptions(text, table, dialect);
    const parsed = parseOptions(table, argv, { program: name });
    if (parsed.kind === 'help') {
      const { columns } = process.stdout;
      const width = columns === undefined ? {} : { columns: Math.min(columns, 160) };
      const shown = withShownNames(table, dialect);
      process.stdout.write(spelled(helpText(shown, { program: name, description: program.description, ...width })));
      return 0;
    }
    if (parsed.kind === 'version') {
      process.stdout.write(`${versionText(dialect, parsed.raw)}\n`);
      return 0;
    }
    const gates = gateFindings(program, parsed);
    const refusals = [...parsed.refusals, ...gates.refusals];
    const { isLenient = false } = program;
    validateOptions({ ...parsed, refusals: isLenient ? [] : refusals }, program.rules ?? []);
    // Without `configure`, `P` is its default.
    const complete =
      program.configure === undefined ? (parsed as ParsedOptions<T> as P) : await program.configure(parsed, dialect);
    const clock = realClock;
    const { log, verbosity, flush } = programLog(name, complete, process);
    process.reportTo?.(log, flush);
    try {
      const own = [...complete.warnings, ...gates.warnings, ...(isLenient ? refusals : [])];
      const warnings = program.isWorker === true ? [] : own;
      for (const warning of warnings) log.warn(spelled(warning));
      const { env, argv: commandLine } = process;
      const context = { dialect, log, verbosity, clock, random: Math.random, env, argv: commandLine };
      const daemon = await program.create({ ...complete, ...context });
      const { isWorker = false } = program;
      return await runDaemon(daemon, { process: flushing(process, flush), log, isWorker });
    } finally {
      flush();
    }
  } catch (error) {
    process.stderr.write(failureText(error, argv.length > 0, spelled));
    return 1;
  }
}

function gateFindings(
  { actingGates }: Pick<Program<never>, 'actingGates'>,
  parsed: ParsedOptions<OptionTable>,
): InertFindings {
  const values = parsed.values['feature-gates'] as unknown;
  if (actingGates === undefined || typeof values !== 'object' || values === null) {
    return { warnings: [], refusals: [] };
  }
  return idleGateFindings(values as Readonly<Record<string, boolean>>, actingGates());
}

function dialectFor(argv: readonly string[]): Dialect {
  try {
    return dialectByName(dialectArgument(argv));
  } catch (error) {
    throw new OptionsError([messageOf(error)]);
  }
}

/** Flushes the log before the process exits. */
function flushing(process: ProgramProcess, flush: () => void): ProcessSignals {
  return {
    on: (event, listener) => process.on(event, listener),
    off: (event, listener) => process.off(event, listener),
    exit(code) {
      flush();
      process.exit(code);
    },
  };
}

/** One line per problem; a stack only for unexpected failures. */
function failureText(error: unknown, hint: boolean, spelled: (text: string) => string): string {
  if (error instanceof OptionsError) {
    const lines = error.messages.map((message) => `Error: ${spelled(message)}\n`).join('');
    return hint ? `${lines}Run with --help for the options.\n` : lines;
  }
  if (!(error instanceof Error)) return `Error: ${String(error)}\n`;
  const unforeseen = error instanceof TypeError || error instanceof ReferenceError;
  return unforeseen ? `Error: ${error.stack ?? error.message}\n` : `Error: ${error.message}\n`;
}

/** The part of the process that a running daemon uses. */
export interface ProcessSignals {
  on(event: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  off(event: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  /** Ends the process immediately. */
  exit(code: number): void;
}

export interface RunDaemonOptions {
  readonly process: ProcessSignals;
  readonly log: Logger;
  /** The process is a child of another daemon, which logs the signal. */
  readonly isWorker?: boolean;
}

/**
 * Runs a daemon until it is told to stop: the first signal lets its work finish, the second ends the process. Returns
 * the exit code: 0 after a requested stop, 1 if the daemon could not continue. Never rejects.
 */
async function runDaemon(daemon: Daemon, { process, log, isWorker = false }: RunDaemonOptions): Promise<number> {
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) {
      log.warn('received a second signal; exiting immediately');
      process.exit(1);
      return;
    }
    if (!isWorker) log.info('received a signal; shutting down');
    stop.abort();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  let code = 0;
  try {
    await daemon.start(allowManyListeners(stop.signal));
    if (!stop.signal.aborted) log.info('daemon ended by itself');
  } catch (error) {
    // A failure while stopping counts, except for work that the stop itself aborted.
    if (!stop.signal.aborted || !isAbort(error)) {
      log.fatal({ err: error }, 'cannot continue; exiting');
      code = 1;
    }
  }
  try {
    await daemon.close();
  } catch (error) {
    log.error({ err: error }, 'failed to stop cleanly');
    code = 1;
  }
  process.off('SIGTERM', onSignal);
  process.off('SIGINT', onSignal);
  log.info({ code }, 'stopped');
  return code;
}

function isAbort(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    error.name === 'AbortError' || ('reason' in error && (error.reason === 'Aborted' || error.reason === 'TermOver'))
  );
}
