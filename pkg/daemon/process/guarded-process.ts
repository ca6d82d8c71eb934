/** The process of a daemon, made safe against what must not end it. For `main.ts` files alone. */
import { fstatSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { fileOutput, type LogOutput, streamOutput } from '#daemon/log/log-output.js';
import type { Logger } from '#daemon/log/logger.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { LastResort } from '#daemon/process/last-resort.js';
import type { ProgramProcess } from '#daemon/run.js';

export interface GuardedProcess extends ProgramProcess, ProcessFacts {
  constrainedMemory(): number;
  /** From now on what was survived is told there; `flush` writes what waits before the process ends. */
  reportTo(log: Logger, flush: () => void): void;
}

const standardError = 2;

/**
 * Listens for failures that nothing handles, and gives daemons a standard error that drops lines instead of failing. To be
 * called once, before anything else.
 */
export function guard(process: NodeJS.Process): GuardedProcess {
  const lastResort = new LastResort(process);
  const stderr = standardErrorOf(process);
  // A reader that has gone away (`| head`) is no failure.
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
    survived: () => ({ droppedLogLines: stderr.lost.total, strayFailures: lastResort.strays }),
    cpuUsage: () => process.cpuUsage(),
    memoryUsage: () => process.memoryUsage(),
    constrainedMemory: () => process.constrainedMemory(),
    uptime: () => process.uptime(),
    on: (event, listener) => process.on(event, listener),
    off: (event, listener) => process.off(event, listener),
    exit: (code) => process.exit(code),
    reportTo(log, flush) {
      stderr.lost.onResumed((lines) => log.warn({ lines }, 'Lines of this log could not be written'));
      lastResort.reportTo(log, flush);
    },
  };
}

function standardErrorOf(process: NodeJS.Process): LogOutput {
  const kind = fstatSync(standardError);
  const isPlain = kind.isFile() || (kind.isCharacterDevice() && !isatty(standardError));
  return isPlain ? fileOutput((bytes) => writeSync(standardError, bytes)) : streamOutput(process.stderr);
}
