/** Serving certificates that are replaced on disk while the server runs. */
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';

export interface FollowFilesOptions {
  readonly files: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
  /** Called after the files have come to rest; a failure is logged, and the old content stays in use. */
  readonly changed: () => Promise<void>;
}

/** Certificate and key are two files: both are there when nothing has changed for this long. */
const settleMs = 500;

/**
 * Calls `changed` when one of the files was written or replaced, until the signal aborts. Directories are watched, for
 * a file that is replaced by renaming is another file.
 */
export function followFiles({ files, clock, log, changed }: FollowFilesOptions, signal: AbortSignal): Promise<void> {
  let pending: { cancel(): void } | undefined;
  const reload = () => {
    changed().then(
      () => log.info({ files }, 'Loaded the certificate again'),
      (err: unknown) => log.error({ err, files }, 'Could not load the certificate again; the old one stays'),
    );
  };
  const names = new Set(files.map((file) => basename(file)));
  const watchers = [...new Set(files.map((file) => dirname(file)))].map((directory) => {
    const watcher = watchOrWarn(directory, log, (name) => {
      // Projected volumes swap a link beside the files; its name starts with two dots.
      if (name !== null && !names.has(name) && !name.startsWith('..')) return;
      pending?.cancel();
      pending = clock.setTimer(reload, settleMs);
    });
    return watcher;
  });
  return new Promise((resolve) => {
    const stop = () => {
      pending?.cancel();
      for (const watcher of watchers) watcher?.close();
      resolve();
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

/** Undefined where the system has no watch left to give: the server does without. */
function watchOrWarn(directory: string, log: Logger, changed: (name: string | null) => void): FSWatcher | undefined {
  const failed = (err: unknown) => log.warn({ err, directory }, 'Certificates are not watched any more');
  try {
    const watcher = watch(directory, { persistent: false }, (_event, name) => changed(name));
    watcher.on('error', failed);
    return watcher;
  } catch (err) {
    failed(err);
    return undefined;
  }
}
