/**
 * Tells caches what happened shortly before they were filled, so that a client's watch goes on over a restart of its API
 * server instead of listing everything again.
 *
 * One watch at the store over all resources, with what was there before each write; bounded in revisions, so that it costs
 * little even on a busy store.
 */
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import {
  keyOf,
  prefixEnd,
  type Revision,
  type Store,
  StoreError,
  type StoreErrorCode,
  type StoreEvent,
} from '#storage/store.js';

export interface HistoryReader {
  /** The resource's key prefix: `/registry/pods/`. */
  readonly prefix: string;
  remember(past: { readonly since: Revision; readonly events: readonly StoreEvent[] } | undefined): void;
}

export interface LookBackOptions {
  readonly store: Store;
  /** Root of all keys, without a slash at its end: `/registry`. */
  readonly root: string;
  /** Filled caches. */
  readonly readers: readonly HistoryReader[];
  readonly clock: Clock;
  readonly log: Logger;
  /** How many revisions to look back at most. */
  readonly maxRevisions?: number;
}

/** As many as the history of one cache holds. */
const defaultMaxRevisions = 10_000;

/** Also when the history was compacted further than a moment ago. */
const passingCodes: ReadonlySet<StoreErrorCode> = new Set(['unavailable', 'timeout', 'compacted']);
const retryMs = 100;
const maxAttempts = 6;

/** Calls `remember` of every reader once. Never rejects: without history watches begin anew. */
export async function lookBack(options: LookBackOptions, signal: AbortSignal): Promise<void> {
  const past = await readPatiently(options, signal);
  for (const reader of options.readers) {
    reader.remember(past && { since: past.since, events: past.byPrefix.get(reader.prefix) ?? [] });
  }
}

/** Tries again while the store does not answer or moves on, 6 s at most. */
async function readPatiently(options: LookBackOptions, signal: AbortSignal): Promise<Past | undefined> {
  const { clock, log } = options;
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      return await read(options, signal);
    } catch (err) {
      if (signal.aborted) break;
      const passing = err instanceof StoreError && passingCodes.has(err.code);
      if (!passing || attempt === maxAttempts) {
        log.info({ err }, 'cannot read the history of the store; older watches begin anew');
        break;
      }
      await clock.sleep(retryMs * 2 ** attempt, signal);
    }
  }
  return undefined;
}

interface Past {
  readonly since: Revision;
  readonly byPrefix: ReadonlyMap<string, StoreEvent[]>;
}

async function read(options: LookBackOptions, signal: AbortSignal): Promise<Past> {
  const target = await options.store.currentRevision(signal);
  const reach = BigInt(options.maxRevisions ?? defaultMaxRevisions);
  const from = target > reach ? target - reach : 1n;
  try {
    return await follow(options, { from, target }, signal);
  } catch (err) {
    if (!(err instanceof StoreError) || err.code !== 'compacted' || err.compacted === undefined) throw err;
    // The write at the compacted revision itself may be forgotten.
    return follow(options, { from: err.compacted + 2n, target }, signal);
  }
}

async function follow(
  { store, root, readers }: LookBackOptions,
  { from, target }: { readonly from: Revision; readonly target: Revision },
  signal: AbortSignal,
): Promise<Past> {
  const byPrefix = new Map<string, StoreEvent[]>(readers.map(({ prefix }) => [prefix, []]));
  const past = { since: from - 1n, byPrefix };
  if (from > target) return past;
  const start = `${root}/`;
  const stop = new AbortController();
  const watch = { start, end: prefixEnd(start), fromRevision: from, previous: true };
  for await (const message of store.watch({ ...watch, signal: AbortSignal.any([signal, stop.signal]) })) {
    if (message.type === 'events') {
      for (const event of message.events) {
        const key = keyOf(event);
        byPrefix.get(key.slice(0, key.indexOf('/', start.length) + 1))?.push(event);
      }
    }
    if (message.revision >= target) break;
  }
  stop.abort();
  signal.throwIfAborted();
  return past;
}
