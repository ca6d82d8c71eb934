/** One watch from beginning to end: initial state, then changes, bookmarks in between. */
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { CacheEntry } from '#storage/cache/cache-entry.js';
import type { CacheState } from '#storage/cache/state.js';
import { Watcher, WatchOverflowError } from '#storage/cache/watcher.js';
import { watchTooOld } from '#storage/errors.js';
import type { StorageMetrics } from '#storage/metrics.js';
import type { ReadVersion, ResourceEvent, ResourceWatch, ResourceWatchOptions } from '#storage/resource-storage.js';
import { prefixEnd, type Revision } from '#storage/store.js';

export interface WatchSessionOptions {
  readonly watch: ResourceWatchOptions;
  readonly prefix: string;
  readonly state: CacheState;
  /** Waits until the cache satisfies a read of that version. */
  readonly reach: (version: Exclude<ReadVersion, { kind: 'exact' }>, signal: AbortSignal) => Promise<void>;
  readonly requestProgress: () => void;
  readonly clock: Clock;
  readonly metrics: StorageMetrics;
  readonly resource: string;
  readonly bufferSize: number;
  readonly bookmarkPeriodMs: number;
  /** Aborts when the cache is closed. */
  readonly stopped: AbortSignal;
}

/** Entries of the initial state that are handed over at once. */
const initialBatch = 500;

export class WatchSession implements ResourceWatch {
  readonly #options: WatchSessionOptions;
  #watcher: Watcher | undefined;
  #bookmarkTimer: Timer | undefined;

  constructor(options: WatchSessionOptions) {
    this.#options = options;
  }

  requestBookmark(): void {
    const { state, requestProgress } = this.#options;
    if (this.#watcher === undefined) return;
    state.bookmarkSoon(this.#watcher);
    requestProgress();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly ResourceEvent[], void, void> {
    const { state, metrics, resource, watch, stopped } = this.#options;
    const initial = await this.#begin();
    const watcher = this.#watcher;
    if (watcher === undefined || watch.signal.aborted || stopped.aborted) return;
    const end = () => watcher.end();
    watch.signal.addEventListener('abort', end, { once: true });
    metrics.cacheWatchers.inc({ resource });
    try {
      yield* initialEvents(initial, watch);
      for (;;) {
        const batch = await watcher.take();
        if (batch === undefined || watch.signal.aborted) return;
        yield batch;
      }
    } catch (err) {
      if (err instanceof WatchOverflowError) metrics.terminatedWatchers.inc({ resource });
      throw err;
    } finally {
      watch.signal.removeEventListener('abort', end);
      this.#bookmarkTimer?.cancel();
      state.watchers.delete(watcher);
      metrics.cacheWatchers.dec({ resource });
    }
  }

  /** Registers the watcher and, without a turn of the event loop in between, takes the state that it begins with. */
  async #begin(): Promise<InitialState> {
    const { watch, reach, state, prefix } = this.#options;
    const { version } = watch;
    const start = prefix + watch.scope;
    if (version.kind === 'exact' && watch.sendInitialEvents !== true) {
      if (!state.filled) await reach({ kind: 'any' }, watch.signal);
      if (version.revision < state.ring.floor) throw watchTooOld(version.revision, state.ring.floor);
      const missed = state.ring.after(version.revision);
      const watcher = this.#register(version.revision);
      for (const change of missed) watcher.offer(change);
      return { entries: [], revision: version.revision };
    }
    await reach(
      version.kind === 'exact' ? { kind: 'notOlderThan', revision: version.revision } : version,
      watch.signal,
    );
    const entries = state.entries.slice({ start, end: prefixEnd(start) });
    this.#register(state.revision);
    return { entries, revision: state.revision };
  }

  #register(after: Revision): Watcher {
    const { watch, state, prefix, bufferSize } = this.#options;
    const { match, bookmarks } = watch;
    const watcher = new Watcher({ scope: prefix + watch.scope, match, after, bufferSize, bookmarks });
    state.watchers.add(watcher);
    this.#watcher = watcher;
    if (bookmarks) this.#scheduleBookmark();
    return watcher;
  }

  #scheduleBookmark(): void {
    const { clock, bookmarkPeriodMs } = this.#options;
    this.#bookmarkTimer = clock.setTimer(() => {
      this.requestBookmark();
      this.#scheduleBookmark();
    }, bookmarkPeriodMs);
  }
}

interface InitialState {
  readonly entries: readonly CacheEntry[];
  readonly revision: Revision;
}

function* initialEvents(initial: InitialState, watch: ResourceWatchOptions): Generator<readonly ResourceEvent[]> {
  const { match, sendInitialEvents = false } = watch;
  let batch: ResourceEvent[] = [];
  for (const entry of initial.entries) {
    if (match?.(entry) === false) continue;
    batch.push({ type: 'ADDED', entry, revision: entry.revision });
    if (batch.length < initialBatch) continue;
    yield batch;
    batch = [];
  }
  if (sendInitialEvents) batch.push({ type: 'BOOKMARK', revision: initial.revision, initialEventsEnd: true });
  if (batch.length > 0) yield batch;
}
