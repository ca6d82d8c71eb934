/** Shared parts of the cache's tests: a cache over a store, small objects, and watch readers. */
import { Registry } from 'prom-client';
import type { Test } from 'tap';
import { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { realClock } from '#apimachinery/clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { WatchCache, type WatchCacheOptions } from '#storage/cache/watch-cache.js';
import { encodeStored } from '#storage/layout.js';
import { createStorageMetrics } from '#storage/metrics.js';
import type { Entry, ReadVersion, ResourceEvent, ResourceWatchOptions } from '#storage/resource-storage.js';
import type { Store } from '#storage/store.js';

export const latest: ReadVersion = { kind: 'latest' };
export const any: ReadVersion = { kind: 'any' };
export const notOlderThan = (revision: bigint): ReadVersion => ({ kind: 'notOlderThan', revision });
export const exact = (revision: bigint): ReadVersion => ({ kind: 'exact', revision });

export interface Thing {
  metadata: { name: string; uid: string; labels: Record<string, string>; resourceVersion?: string };
  value: number;
}

/** The bytes of a small object. */
export function thing(name: string, value: number, labels: Record<string, string> = {}, uid = name): Buffer {
  const object = { kind: 'Thing', apiVersion: 'v1', metadata: { name, uid, labels }, value };
  return encodeStored(object);
}

export const objectOf = (entry: Entry): Thing => entry.object() as Thing;

/** A running cache of `/registry/things/`, closed at the end of the test. */
export function runCache(t: Test, store: Store, options: Partial<WatchCacheOptions> = {}): WatchCache {
  // The clock's timers do not keep a process alive that waits for nothing else.
  const alive = setInterval(() => {}, 60_000);
  const cache = new WatchCache({
    store,
    prefix: '/registry/things/',
    resource: 'things',
    clock: realClock,
    turns: new TurnQueue({ clock: realClock, defer: setImmediate }),
    random: () => 0.5,
    log: silentLogger,
    metrics: createStorageMetrics(new Registry()),
    ...options,
  });
  void cache.start(new AbortController().signal);
  t.teardown(async () => {
    await cache.close();
    clearInterval(alive);
  });
  return cache;
}

export interface WatchReader {
  readonly events: ResourceEvent[];
  /** Reads until `done` returns true for all events so far. */
  until(done: (events: readonly ResourceEvent[]) => boolean): Promise<ResourceEvent[]>;
  requestBookmark(): void;
  opened(): Promise<void>;
  stop(): Promise<void>;
}

export function readWatch(
  t: Test,
  cache: WatchCache,
  options: Partial<Omit<ResourceWatchOptions, 'signal'>> = {},
): WatchReader {
  const controller = new AbortController();
  const watch = cache.watch({ scope: '', version: latest, bookmarks: false, ...options, signal: controller.signal });
  const iterator = watch[Symbol.asyncIterator]();
  const events: ResourceEvent[] = [];
  const stop = async () => {
    controller.abort();
    await iterator.return?.();
  };
  t.teardown(stop);
  return {
    events,
    async until(done) {
      while (!done(events)) {
        const result = await iterator.next();
        if (result.done === true) throw new Error('the watch has ended');
        events.push(...result.value);
      }
      return events;
    },
    requestBookmark: () => watch.requestBookmark(),
    opened: () => watch.opened(),
    stop,
  };
}

/** An event for comparisons: `ADDED a=1@5`. */
export function show(event: ResourceEvent): string {
  if (event.type === 'BOOKMARK') return `BOOKMARK@${event.revision}${event.initialEventsEnd === true ? ' end' : ''}`;
  const { metadata, value } = objectOf(event.entry);
  if (metadata.resourceVersion !== String(event.revision))
    throw new Error('the object and the event differ in version');
  return `${event.type} ${metadata.name}=${value}@${event.revision}`;
}
