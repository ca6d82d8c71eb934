/**
 * Forgets old history regularly, so that the store does not grow for ever. Every server runs this; a key in the store
 * sees to it that one of them does the work in each period, as in 1.24 (`compact_rev_key` of its etcd3 storage).
 *
 * Flow of one period, for a server that noted time `t` and revision `r` in the last one: if the key still stands at what
 * it noted, it raises the key to the next number, compacts at `r`, which is one period old by now, and notes the present
 * revision. If another server was faster, it only notes what that one wrote.
 */
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { StorageMetrics } from '#storage/metrics.js';
import { compactionKey } from '#storage/own-keys.js';
import { type Revision, type Store, StoreError } from '#storage/store.js';

export interface CompactionOptions {
  readonly store: Store;
  /** Root of all keys, without a slash at its end: `/registry`. */
  readonly root: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: StorageMetrics;
  /** History is kept at least this long, and less than twice as long. */
  readonly periodMs?: number;
}

/** 1.24's default of --etcd-compaction-interval. */
const defaultPeriodMs = 5 * 60_000;

/** What this server knew at the end of a period. */
interface Noted {
  /** Mod revision of the key; 0 when there is none. */
  readonly keyRevision: Revision;
  /** The store's revision at that time: what the next period compacts to. */
  readonly revision: Revision;
}

/** Runs until the signal aborts. */
export async function compactRegularly(options: CompactionOptions, signal: AbortSignal): Promise<void> {
  const { clock, log, metrics, periodMs = defaultPeriodMs } = options;
  let noted: Noted | undefined;
  while (!signal.aborted) {
    try {
      noted = noted === undefined ? await look(options) : await compactOnce(options, noted);
    } catch (err) {
      metrics.compactions.inc({ result: 'error' });
      log.warn({ err }, 'compaction of the store failed');
    }
    await clock.sleep(periodMs, signal);
  }
}

/** Where the key and the store stand. */
async function look({ store, root }: CompactionOptions): Promise<Noted> {
  const key = root + compactionKey;
  const { kvs, revision } = await store.range({ start: key, end: `${key}\0` });
  return { keyRevision: kvs[0]?.modRevision ?? 0n, revision };
}

/** One period's work; what it returns is the next one's `noted`. */
async function compactOnce(options: CompactionOptions, noted: Noted): Promise<Noted> {
  const { store, root, log, metrics } = options;
  const key = root + compactionKey;
  const value = Buffer.from(String(noted.revision));
  const raised =
    noted.keyRevision === 0n ? await store.create(key, value) : await store.update(key, value, noted.keyRevision);
  if (!raised.ok) {
    metrics.compactions.inc({ result: 'left_to_another' });
    return { keyRevision: raised.current?.modRevision ?? 0n, revision: raised.revision };
  }
  try {
    await store.compact(noted.revision);
  } catch (err) {
    // Somebody else has compacted further than we would have.
    if (!(err instanceof StoreError && err.code === 'compacted')) throw err;
  }
  metrics.compactions.inc({ result: 'done' });
  log.debug({ revision: String(noted.revision) }, 'compacted the store');
  return { keyRevision: raised.revision, revision: raised.revision };
}
