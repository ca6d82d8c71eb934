/** Certificates and authorities that are replaced on disk while the server runs. */
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { stampOf } from '#daemon/certificates/file-stamps.js';
import type { Logger } from '#daemon/log/logger.js';

export interface FollowFilesOptions {
  readonly files: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
  /** Called after the files have come to rest; a failure is logged, and the old content stays in use until it succeeds. */
  readonly changed: () => Promise<void>;
}

/** Certificate and key are two files: both are there when nothing has changed for this long. */
const settleMs = 500;
/** A watch may have been lost, or never been given: as often as the daemons of 1.24 do, files are looked at without one. */
const lookMs = 60_000;
const retryMs = 5_000;

/**
 * Calls `changed` when one of the files was written or replaced, until the signal aborts. Directories are watched, for
 * a file that is replaced by renaming is another file.
 */
export function followFiles({ files, clock, log, changed }: FollowFilesOptions, signal: AbortSignal): Promise<void> {
  let pending: Timer | undefined;
  let looking: Timer | undefined;
  let stamp: string | undefined;
  const reload = async () => {
    const before = await stampOf(files);
    try {
      await changed();
      stamp = before;
      log.info({ files }, 'Loaded the certificates again');
    } catch (err) {
      log.error({ err, files }, 'Could not load the certificates again; the old ones stay for now');
      reloadIn(retryMs);
    }
  };
  const reloadIn = (ms: number) => {
    pending?.cancel();
    if (!signal.aborted) pending = clock.setTimer(() => void reload(), ms);
  };
  const look = async () => {
    // What was replaced before they were followed is not known either.
    if ((await stampOf(files)) !== stamp) await reload();
    if (!signal.aborted) looking = clock.setTimer(() => void look(), lookMs);
  };
  const names = new Set(files.map((file) => basename(file)));
  const watchers = [...new Set(files.map((file) => dirname(file)))].map((directory) => {
    const watcher = watchOrWarn(directory, log, (name) => {
      // Projected volumes swap a link beside the files; its name starts with two dots.
      if (name !== null && !names.has(name) && !name.startsWith('..')) return;
      reloadIn(settleMs);
    });
    return watcher;
  });
  looking = clock.setTimer(() => void look(), lookMs);
  return new Promise((resolve) => {
    const stop = () => {
      pending?.cancel();
      looking?.cancel();
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
