/** Caches that read what another one keeps in shared memory, as in several threads. */
import { MessageChannel } from 'node:worker_threads';
import type { Test } from 'tap';
import { runCache } from '#storage/cache/cache-fixture.js';
import type { WatchCache, WatchCacheOptions } from '#storage/cache/watch-cache.js';
import { FollowingStore } from '#storage/shared/following-store.js';
import { Publisher } from '#storage/shared/publisher.js';
import { Subscriber } from '#storage/shared/subscriber.js';
import type { Store } from '#storage/store.js';

export interface SharingCaches {
  readonly publisher: Publisher;
  /** The one that follows the store. */
  readonly keeper: WatchCache;
  /** Another one that reads; `leave` ends what it is told, as when its thread dies. */
  reader(options?: Partial<WatchCacheOptions>): { readonly cache: WatchCache; readonly leave: () => void };
}

export function sharingCaches(t: Test, store: Store, options: Partial<WatchCacheOptions> = {}): SharingCaches {
  const publisher = new Publisher({
    defer: (callback) => setImmediate(callback),
    requestProgress: (prefix) => store.requestProgress(prefix),
    distrusted: () => void keeper.selfCheck(),
  });
  const keeper = runCache(t, store, { ...options, observer: publisher.observer('/registry/things/') });
  return {
    publisher,
    keeper,
    reader(own = {}) {
      const { port1, port2 } = new MessageChannel();
      const subscriber = new Subscriber(port2);
      const feed: WatchCacheOptions['feed'] = (cache) => subscriber.feed(cache);
      const cache = runCache(t, new FollowingStore(store, subscriber), {
        awaitsHistory: true,
        ...options,
        ...own,
        feed,
      });
      const remove = publisher.add(port1);
      const leave = () => {
        remove();
        port1.close();
      };
      t.teardown(leave);
      return { cache, leave };
    },
  };
}
