/**
 * Compacts the store's history regularly, so that it does not grow for ever. Every server runs this; a key in the store
 * ensures that one of them compacts per period, as in 1.24 (`compact_rev_key` of its etcd3 storage).
 *
 * One period, for a server that recorded the key's revision and the store's revision `r` in the previous one: if the
 * key is unchanged, the server updates it, compacts at `r`, which is one period old now, and records the new revisions.
 * If another server was faster, it only records what that server wrote.
 */
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { StorageMetrics } from '#storage/metrics.js';
import { compactionKey } from '#storage/own-keys.js';
import { type Revision, type Store, StoreError } from '#storage/store.js';

export interface CompactionOptions {
  readonly store: Store;
  /** Root of all keys, without a trailing slash: `/registry`. */
  readonly root: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: StorageMetrics;
  /** History is kept for at least this long, and less than twice as long. */
  readonly periodMs?: number;
}

/** 1.24's default of --etcd-compaction-interval. */
const defaultPeriodMs = 5 * 60_000;

/** What a server recorded at the end of a period. */
interface CompactionState {
  /** Mod revision of the key; 0 if it does not exist. */
  readonly keyRevision: Revision;
  /** The store's revision then: the next period compacts at it. */
  readonly revision: Revision;
}

/** Runs until the signal aborts. */
export async function compactRegularly(options: CompactionOptions, signal: AbortSignal): Promise<void> {
  const { clock, log, metrics, periodMs = defaultPeriodMs } = options;
  let state: CompactionState | undefined;
  while (!signal.aborted) {
    try {
      state = state === undefined ? await look(options) : await compactOnce(options, state);
    } catch (err) {
      metrics.compactions.inc({ result: 'error' });
      log.warn({ err }, 'compaction of the store failed');
    }
    await clock.sleep(periodMs, signal);
  }
}

/** Reads the key and the store's revision. */
async function look({ store, root }: CompactionOptions): Promise<CompactionState> {
  const key = root + compactionKey;
  const { kvs, revision } = await store.range({ start: key, end: `${key}\0` });
  return { keyRevision: kvs[0]?.modRevision ?? 0n, revision };
}

/** One period's work; returns the state for the next one. */
async function compactOnce(options: CompactionOptions, state: CompactionState): Promise<CompactionState> {
  const { store, root, log, metrics } = options;
  const key = root + compactionKey;
  const value = Buffer.from(String(state.revision));
  const raised =
    state.keyRevision === 0n ? await store.create(key, value) : await store.update(key, value, state.keyRevision);
  if (!raised.ok) {
    metrics.compactions.inc({ result: 'left_to_another' });
    return { keyRevision: raised.current?.modRevision ?? 0n, revision: raised.revision };
  }
  try {
    await store.compact(state.revision);
  } catch (err) {
    // Another server has compacted further.
    if (!(err instanceof StoreError && err.code === 'compacted')) throw err;
  }
  metrics.compactions.inc({ result: 'done' });
  log.debug({ revision: String(state.revision) }, 'compacted the store');
  return { keyRevision: raised.revision, revision: raised.revision };
}
