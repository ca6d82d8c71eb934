/** Protects a daemon's process from failures that must not end it. For `main.ts` files only. */

import { fstatSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { fileOutput, type LogOutput, streamOutput } from '#daemon/log/log-output.js';
import type { Logger } from '#daemon/log/logger.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import type { ProgramProcess } from '#daemon/run.js';

export interface GuardedProcess extends ProgramProcess, ProcessFacts {
  constrainedMemory(): number;
  /** Reports survived failures to this log; `flush` writes buffered lines before the process ends. */
  reportTo(log: Logger, flush: () => void): void;
}

const standardOutput = 1;
const standardError = 2;

/**
 * Handles unhandled failures, and replaces standard error by one that drops lines instead of failing. Call it once,
 * first.
 */
export function guard(process: NodeJS.Process): GuardedProcess {
  const failures = new UnhandledFailures(process);
  const stderr = logOutputOf(process, standardError);
  let stdoutLog: LogOutput | undefined;
  // A reader that closed the pipe (`| head`) is not a failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.exitCode = 1;
  });
  return {
    argv: process.argv,
    env: process.env,
    pid: process.pid,
    version: process.version,
    stdout: process.stdout,
    stderr,
    logOutput() {
      stdoutLog ??= logOutputOf(process, standardOutput);
      return stdoutLog;
    },
    survived: () => ({
      droppedLogLines: stderr.lost.total + (stdoutLog?.lost.total ?? 0),
      strayFailures: failures.strays,
    }),
    cpuUsage: () => process.cpuUsage(),
    memoryUsage: () => process.memoryUsage(),
    constrainedMemory: () => process.constrainedMemory(),
    uptime: () => process.uptime(),
    on: (event, listener) => process.on(event, listener),
    off: (event, listener) => process.off(event, listener),
    exit: (code) => process.exit(code),
    reportTo(log, flush) {
      for (const output of [stderr, stdoutLog]) {
        output?.lost.onResumed((lines) => log.warn({ lines }, 'log lines were dropped'));
      }
      failures.reportTo(log, flush);
    },
  };
}

/** Standard output or standard error as an output of log lines. */
function logOutputOf(process: NodeJS.Process, descriptor: typeof standardOutput | typeof standardError): LogOutput {
  const kind = fstatSync(descriptor);
  const isPlain = kind.isFile() || (kind.isCharacterDevice() && !isatty(descriptor));
  if (isPlain) return fileOutput((bytes) => writeSync(descriptor, bytes));
  return streamOutput(descriptor === standardError ? process.stderr : process.stdout);
}

/** The part of the process that is used. */
export interface FailingProcess {
  on(event: 'unhandledRejection', listener: (reason: unknown) => void): unknown;
  on(event: 'uncaughtException', listener: (error: unknown) => void): unknown;
  /** Ends the process immediately. */
  exit(code: number): void;
}

/** Failures that the process survives. */
export type StrayKind = 'rejection' | 'stream';

/** System calls that streams and servers issue by themselves, so that no function of ours is interrupted. */
const streamCalls: ReadonlySet<string> = new Set([
  'accept',
  'connect',
  'getaddrinfo',
  'read',
  'shutdown',
  'write',
  'writev',
]);

/** Error codes of the runtime and its libraries that concern one stream or connection. */
const streamCodes =
  /^(ERR_(STREAM|HTTP|HTTP2|HTTPS?_|SSL|TLS|SOCKET|IPC)|HPE_|WS_ERR_|Z_|ECONNRESET$|EPIPE$|ABORT_ERR$)/;

/** True for the failure of a single stream, connection or server. */
export function isStreamFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  return (syscall !== undefined && streamCalls.has(syscall)) || (typeof code === 'string' && streamCodes.test(code));
}

/**
 * Handles failures that nothing else handled.
 *
 * - A rejected promise, or an `error` event of a connection or stream, concerns one task or one peer: it is logged and
 *   counted, and the process continues.
 * - Any other exception has interrupted a function, which may leave state half changed: the process ends immediately,
 *   and its supervisor restarts it from stored state.
 *
 * Both are defects: each failure has a place where it should have been handled.
 */
class UnhandledFailures {
  readonly #process: FailingProcess;
  readonly #strays: Record<StrayKind, number> = { rejection: 0, stream: 0 };
  #log: Logger | undefined;
  #flush: () => void = () => undefined;

  /** Starts to listen. */
  constructor(process: FailingProcess) {
    this.#process = process;
    process.on('unhandledRejection', (reason) => this.#survived('rejection', reason));
    process.on('uncaughtException', (error) => {
      if (isStreamFailure(error)) this.#survived('stream', error);
      else this.#end(error);
    });
  }

  get strays(): Readonly<Record<StrayKind, number>> {
    return this.#strays;
  }

  /** Reports failures to this log; `flush` writes buffered lines before the process ends. */
  reportTo(log: Logger, flush: () => void): void {
    this.#log = log;
    this.#flush = flush;
  }

  #survived(kind: StrayKind, reason: unknown): void {
    this.#strays[kind] += 1;
    this.#log?.error({ err: reason, kind, stack: stackOf(reason) }, 'unhandled failure; continuing');
  }

  #end(error: unknown): void {
    this.#log?.fatal({ err: error, stack: stackOf(error) }, 'uncaught exception; exiting');
    this.#flush();
    this.#process.exit(1);
  }
}

function stackOf(reason: unknown): string | undefined {
  return reason instanceof Error ? reason.stack : undefined;
}
