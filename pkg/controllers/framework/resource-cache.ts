import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import type { Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';

export interface ResourceCache {
  readonly informer: Informer<ApiObject>;
  /** Resolves when the cache is filled; may reject if the cache stops before. */
  readonly synced: Promise<void>;
  /** Stops a cache that was started here. Callers remove their handlers themselves. Rejects if the watch failed. */
  stop(): Promise<void>;
}

export interface CacheOptions {
  /** Drops unread fields from a cache that is started here. */
  readonly transform: <T extends ApiObject>(object: T) => T;
  readonly signal: AbortSignal;
  /** Called when the watch fails. */
  readonly failed: (error: unknown) => void;
}

/**
 * A cache of a discovered resource: the shared cache if another controller uses one. Otherwise the cache gets its own
 * factory, so that it can be stopped when the resource is removed and no other controller waits for its sync.
 */
export function cacheOf(
  { client, clock, informers, log, random }: ControllerContext,
  type: ResourceType<ApiObject>,
  { failed, signal, transform }: CacheOptions,
): ResourceCache {
  const shared = informers.existing(type);
  if (shared !== undefined) return { informer: shared, synced: shared.whenSynced(), stop: async () => undefined };
  const factory = new SharedInformerFactory({ client, clock, random, log, transform });
  const informer = factory.informer(type);
  const ending = new AbortController();
  const running = factory.start(AbortSignal.any([ending.signal, signal]));
  // Handle a rejection before `stop` awaits the promise.
  running.catch(failed);
  return {
    informer,
    synced: factory.waitForSync(),
    stop: () => {
      ending.abort();
      return running;
    },
  };
}
