/** Runs a daemon until it is told to stop: by the first signal with its work brought to an end, by the second at once. */

import { shared } from '#apimachinery/async/shared-signal.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';

/** What of the process a running daemon touches. */
export interface ProcessSignals {
  on(event: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  off(event: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  /** Ends the process at once. */
  exit(code: number): void;
}

export interface RunDaemonOptions {
  readonly process: ProcessSignals;
  readonly log: Logger;
  /** The daemon is a process of another one, which tells of the signal. */
  readonly isWorker?: boolean;
}

/** The exit code: 0 after a stop that was asked for, 1 when the daemon could not go on. Never rejects. */
export async function runDaemon(daemon: Daemon, { process, log, isWorker = false }: RunDaemonOptions): Promise<number> {
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) {
      log.warn('Second signal: ending at once');
      process.exit(1);
      return;
    }
    if (!isWorker) log.info('Signal received: shutting down');
    stop.abort();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  let code = 0;
  try {
    await daemon.start(shared(stop.signal));
    if (!stop.signal.aborted) log.info('Work has ended');
  } catch (error) {
    // A failure while stopping is one too, but what a stop itself breaks off is not.
    if (!stop.signal.aborted || !isAbort(error)) {
      log.fatal({ err: error }, 'Cannot go on');
      code = 1;
    }
  }
  try {
    await daemon.close();
  } catch (error) {
    log.error({ err: error }, 'Did not stop cleanly');
    code = 1;
  }
  process.off('SIGTERM', onSignal);
  process.off('SIGINT', onSignal);
  log.info({ code }, 'Stopped');
  return code;
}

function isAbort(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    error.name === 'AbortError' || ('reason' in error && (error.reason === 'Aborted' || error.reason === 'TermOver'))
  );
}
