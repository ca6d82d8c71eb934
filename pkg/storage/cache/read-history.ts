/**
 * Reads changes from before the caches were filled, so that watches survive a restart of the API server without a list.
 * Uses one watch of all resources with previous values. The number of revisions is limited, so it costs little even
 * with a busy store.
 */
import { exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import { prefixEnd } from '#storage/sorted-map.js';
import { type Revision, type Store, StoreError, type StoreErrorCode, type StoreEvent } from '#storage/store.js';

export interface HistoryReceiver {
  /** The resource's key prefix: `/registry/pods/`. */
  readonly prefix: string;
  remember(past: { readonly since: Revision; readonly events: readonly StoreEvent[] } | undefined): void;
}

export interface ReadHistoryOptions {
  readonly store: Store;
  /** Root of all keys, without a trailing slash: `/registry`. */
  readonly root: string;
  /** Filled caches. */
  readonly receivers: readonly HistoryReceiver[];
  readonly clock: Clock;
  readonly log: Logger;
  /** Limit of revisions to read. */
  readonly maxRevisions?: number;
  /** Limit of the size of one resource's objects; bytes. */
  readonly maxBytes?: number;
}

/** Equals the capacity of a cache's history. */
const defaultMaxRevisions = 10_000;
/** Limit of one resource's states, which are in memory at the same time; the newest are kept. Bytes. */
const defaultMaxBytes = 8 * 1024 * 1024;

/** Codes that pass; `compacted` is history that was compacted just now. */
const passingCodes: ReadonlySet<StoreErrorCode> = new Set(['unavailable', 'timeout', 'compacted']);
const retryMs = 100;
const retryMaxMs = 3200;
const maxAttempts = 6;

/** Calls `remember` of each receiver once. Never rejects: without history, watches start again. */
export async function readHistory(options: ReadHistoryOptions, signal: AbortSignal): Promise<void> {
  const history = await readPatiently(options, signal);
  for (const receiver of options.receivers) {
    receiver.remember(history?.get(receiver.prefix));
  }
}

/** Retries while the store does not answer or compacts, for at most 6 s. */
async function readPatiently(options: ReadHistoryOptions, signal: AbortSignal): Promise<HistoryByPrefix | undefined> {
  const { clock, log } = options;
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      return await read(options, signal);
    } catch (err) {
      if (signal.aborted) break;
      const passing = err instanceof StoreError && passingCodes.has(err.code);
      if (!passing || attempt === maxAttempts) {
        log.info({ err }, 'cannot read the history of the store; older watches must list again');
        break;
      }
      await clock.sleep(exponentialDelayMs(attempt, retryMs, retryMaxMs), signal);
    }
  }
  return undefined;
}

type HistoryByPrefix = ReadonlyMap<string, Past>;

/** The newest events of a resource. */
class Past {
  since: Revision;
  events: StoreEvent[] = [];
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(since: Revision, maxBytes: number) {
    this.since = since;
    this.#maxBytes = maxBytes;
  }

  add(event: StoreEvent): void {
    this.events.push(event);
    this.#bytes += bytesOf(event);
    if (this.#bytes <= this.#maxBytes || this.events.length < 2) return;
    // Drop an eighth at once, because each drop moves all other events.
    let dropped = 0;
    for (; this.#bytes > (this.#maxBytes * 7) / 8 && dropped < this.events.length - 1; dropped++) {
      const oldest = this.events[dropped] as StoreEvent;
      this.#bytes -= bytesOf(oldest);
      this.since = oldest.kv.modRevision;
    }
    this.events = this.events.slice(dropped);
  }
}

function bytesOf(event: StoreEvent): number {
  return (event.type === 'put' ? event.kv.value.length : 0) + (event.previous?.value.length ?? 0);
}

async function read(options: ReadHistoryOptions, signal: AbortSignal): Promise<HistoryByPrefix> {
  const target = await options.store.currentRevision(signal);
  const reach = BigInt(options.maxRevisions ?? defaultMaxRevisions);
  const from = target > reach ? target - reach : 1n;
  try {
    return await follow(options, { from, target }, signal);
  } catch (err) {
    if (!(err instanceof StoreError) || err.code !== 'compacted' || err.compacted === undefined) throw err;
    // The write at the compacted revision itself may be missing.
    return follow(options, { from: err.compacted + 2n, target }, signal);
  }
}

async function follow(
  { store, root, receivers, maxBytes = defaultMaxBytes }: ReadHistoryOptions,
  { from, target }: { readonly from: Revision; readonly target: Revision },
  signal: AbortSignal,
): Promise<HistoryByPrefix> {
  const history = new Map(receivers.map(({ prefix }) => [prefix, new Past(from - 1n, maxBytes)]));
  if (from > target) return history;
  const start = `${root}/`;
  const stop = new AbortController();
  const watch = { start, end: prefixEnd(start), fromRevision: from, previous: true };
  for await (const message of store.watch({ ...watch, signal: AbortSignal.any([signal, stop.signal]) })) {
    if (message.type === 'events') {
      for (const event of message.events) {
        const key = event.kv.key;
        history.get(key.slice(0, key.indexOf('/', start.length) + 1))?.add(event);
      }
    }
    if (message.revision >= target) break;
  }
  stop.abort();
  signal.throwIfAborted();
  return history;
}
