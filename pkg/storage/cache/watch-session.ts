/** One watch: the initial state, then changes with bookmarks. */

import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { CacheEntry } from '#storage/cache/cache-entry.js';
import type { Change } from '#storage/cache/event-ring.js';
import type { CacheState } from '#storage/cache/state.js';
import { eventFor, Watcher, WatchOverflowError } from '#storage/cache/watcher.js';
import { watchTooOld } from '#storage/errors.js';
import type { StorageMetrics } from '#storage/metrics.js';
import type {
  ReadVersion,
  ResourceEvent,
  ResourceWatch,
  ResourceWatchOptions,
  WatchListener,
} from '#storage/resource-storage.js';
import { prefixEnd } from '#storage/sorted-map.js';
import type { Revision } from '#storage/store.js';

/** Common parts of a cache's watches. */
export interface WatchEnvironment {
  readonly prefix: string;
  readonly state: CacheState;
  /** Waits until the cache satisfies a read of the version. */
  readonly reach: (version: Exclude<ReadVersion, { kind: 'exact' }>, signal: Cancellation) => Promise<void>;
  /** Waits until the changes after the revision are available, or certain not to be. */
  readonly recall: (revision: Revision, signal: Cancellation) => Promise<void>;
  readonly requestProgress: () => void;
  readonly clock: Clock;
  readonly turns: TurnQueue;
  readonly metrics: StorageMetrics;
  readonly resource: string;
  readonly bufferSize: number;
  readonly bookmarkPeriodMs: number;
  /** Aborts when the cache is closed. */
  readonly stopped: AbortSignal;
}

/** Initial events per batch. */
const initialBatch = 500;

export class WatchSession implements ResourceWatch {
  readonly #options: WatchEnvironment;
  readonly #watch: ResourceWatchOptions;
  #watcher: Watcher | undefined;
  #bookmarkTimer: Timer | undefined;
  #initial: Promise<Iterable<ResourceEvent | undefined>> | undefined;
  #listener: WatchListener | undefined;
  /** Continues after the listener had paused. */
  #resumed: (() => void) | undefined;

  constructor(options: WatchEnvironment, watch: ResourceWatchOptions) {
    this.#options = options;
    this.#watch = watch;
  }

  async opened(): Promise<void> {
    await this.#begun();
  }

  requestBookmark(): void {
    const { state, requestProgress } = this.#options;
    if (this.#watcher === undefined) return;
    state.bookmarkSoon(this.#watcher);
    requestProgress();
  }

  follow(listener: WatchListener): void {
    this.#listener = listener;
    void this.#followed(listener);
  }

  resume(): void {
    this.#resumed?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly ResourceEvent[], void, void> {
    const { turns, metrics, resource, stopped } = this.#options;
    const watch = this.#watch;
    try {
      const initial = await this.#begun();
      if (watch.signal.aborted || stopped.aborted) return;
      yield* batches(initial, turns);
      for (;;) {
        const batch = await this.#watcher?.take();
        if (batch === undefined || watch.signal.aborted) return;
        yield batch;
      }
    } catch (err) {
      if (watch.signal.aborted) return;
      if (err instanceof WatchOverflowError) metrics.terminatedWatchers.inc({ resource });
      throw err;
    } finally {
      this.#leave();
    }
  }

  /** Passes the initial events at the listener's pace, then leaves the rest to the watcher. Never rejects. */
  async #followed(listener: WatchListener): Promise<void> {
    const { turns, stopped } = this.#options;
    const watch = this.#watch;
    try {
      const initial = await this.#begun();
      this.#initial = undefined;
      if (watch.signal.aborted || stopped.aborted) return this.#over();
      for await (const batch of batches(initial, turns)) {
        if (!listener.events(batch, true)) {
          await new Promise<void>((resolve) => {
            this.#resumed = resolve;
          });
        }
        if (watch.signal.aborted) return this.#over();
      }
    } catch (error) {
      return this.#over({ error });
    }
    listener.begun?.();
    this.#resumed = this.#pump;
    this.#pump();
  }

  /** Passes queued events while the listener accepts them. */
  readonly #pump = (): void => {
    try {
      for (;;) {
        const watcher = this.#watcher;
        // The watcher is absent after the signal has aborted.
        if (watcher === undefined) return this.#over();
        const batch = watcher.poll();
        if (batch === 'ended') return this.#over();
        if (batch === undefined) return watcher.wait(this.#pump);
        if (this.#listener?.events(batch, false) === false) return;
      }
    } catch (error) {
      this.#over({ error });
    }
  };

  #over(failure?: { readonly error: unknown }): void {
    const listener = this.#listener;
    if (listener === undefined) return;
    this.#listener = undefined;
    this.#resumed = undefined;
    const { metrics, resource } = this.#options;
    const watch = this.#watch;
    const expected = failure === undefined || watch.signal.aborted;
    if (!expected && failure.error instanceof WatchOverflowError) metrics.terminatedWatchers.inc({ resource });
    this.#leave();
    listener.ended(expected ? undefined : failure);
  }

  #begun(): Promise<Iterable<ResourceEvent | undefined>> {
    this.#initial ??= this.#begin();
    return this.#initial;
  }

  /** Registers the watcher and takes its initial state in the same turn of the event loop. */
  async #begin(): Promise<Iterable<ResourceEvent | undefined>> {
    const { reach, recall, state, prefix } = this.#options;
    const watch = this.#watch;
    const { version } = watch;
    const start = prefix + watch.scope;
    if (version.kind === 'exact' && watch.sendInitialEvents !== true) {
      if (!state.filled) await reach({ kind: 'any' }, watch.signal);
      await recall(version.revision, watch.signal);
      if (version.revision < state.ring.floor) throw watchTooOld(version.revision, state.ring.floor);
      const missed = state.ring.after(version.revision);
      // The missed changes may exceed a buffer, so they are passed like an initial state.
      this.#register(missed.at(-1)?.revision ?? version.revision);
      return missedEvents(missed, start, watch);
    }
    await reach(
      version.kind === 'exact' ? { kind: 'notOlderThan', revision: version.revision } : version,
      watch.signal,
    );
    const entries = state.entries.slice({ start, end: prefixEnd(start) });
    this.#options.metrics.initEvents.inc({ resource: this.#options.resource }, entries.length);
    this.#register(state.revision);
    return initialEvents(entries, state.revision, watch);
  }

  #register(seen: Revision): void {
    this.#watch.signal.throwIfAborted();
    const { state, prefix, bufferSize, metrics, resource } = this.#options;
    const watch = this.#watch;
    const { match, only, bookmarks } = watch;
    const selection = match === undefined ? '' : watch.selection;
    const watcher = new Watcher({
      scope: prefix + watch.scope,
      match,
      only,
      // A watcher ahead of this cache does not get the same events as others.
      selection: seen > state.revision ? undefined : selection,
      seen,
      bufferSize,
      bookmarks,
      notify: (wake) => state.notifications.add(wake),
    });
    state.watchers.add(watcher);
    metrics.cacheWatchers.inc({ resource });
    this.#watcher = watcher;
    watch.signal.addEventListener('abort', this.#leave, { once: true });
    if (bookmarks) this.#scheduleBookmark();
  }

  /** Removes the watcher. Idempotent. */
  readonly #leave = (): void => {
    const { state, metrics, resource } = this.#options;
    const watch = this.#watch;
    const watcher = this.#watcher;
    if (watcher === undefined) return;
    this.#watcher = undefined;
    watch.signal.removeEventListener('abort', this.#leave);
    this.#bookmarkTimer?.cancel();
    state.watchers.delete(watcher);
    watcher.end();
    metrics.cacheWatchers.dec({ resource });
  };

  #scheduleBookmark(): void {
    const { clock, bookmarkPeriodMs } = this.#options;
    this.#bookmarkTimer = clock.setTimer(() => {
      this.requestBookmark();
      this.#scheduleBookmark();
    }, bookmarkPeriodMs);
  }
}

/** The initial state's events, undefined for unselected objects. A generator, so that a large state is not in memory at once. */
function* initialEvents(
  entries: readonly CacheEntry[],
  revision: Revision,
  { match, sendInitialEvents = false }: ResourceWatchOptions,
): Generator<ResourceEvent | undefined> {
  for (const entry of entries) {
    entry.checkReadable();
    yield match?.(entry) === false ? undefined : { type: 'ADDED', entry, revision: entry.revision };
  }
  if (sendInitialEvents) yield { type: 'BOOKMARK', revision, initialEventsEnd: true };
}

function* missedEvents(
  changes: readonly Change[],
  start: string,
  { match }: ResourceWatchOptions,
): Generator<ResourceEvent | undefined> {
  for (const change of changes) yield change.entry.key.startsWith(start) ? eventFor(change, match) : undefined;
}

async function* batches(
  events: Iterable<ResourceEvent | undefined>,
  turns: TurnQueue,
): AsyncGenerator<readonly ResourceEvent[], void, void> {
  let batch: ResourceEvent[] = [];
  for (const event of events) {
    const wait = turns.bulk.pause();
    if (wait !== undefined) await wait;
    if (event === undefined) continue;
    batch.push(event);
    if (batch.length < initialBatch) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
