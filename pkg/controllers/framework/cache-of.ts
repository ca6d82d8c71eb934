import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import type { Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';

export interface ResourceCache {
  readonly informer: Informer<ApiObject>;
  /** Resolves once the cache is filled; may reject when it ends before. */
  readonly synced: Promise<void>;
  /** Ends what was begun for this cache alone; handlers are removed by who added them. Rejects as the watch has ended. */
  stop(): Promise<void>;
}

export interface CacheOptions {
  /** For a cache of its own: leaves of an object what is needed, as the rest would fill memory. */
  readonly transform: <T extends ApiObject>(object: T) => T;
  readonly signal: AbortSignal;
  /** Told of a watch that ended by itself. */
  readonly failed: (error: unknown) => void;
}

/**
 * The cache of a resource that is known by discovery only: the one that another controller keeps already, or one of a
 * factory of its own, so that it can end when the resource vanishes, and so that no other part waits for it.
 */
export function cacheOf(
  { client, clock, informers, log, random }: ControllerContext,
  type: ResourceType<ApiObject>,
  { failed, signal, transform }: CacheOptions,
): ResourceCache {
  const existing = informers.existing(type);
  if (existing !== undefined) return { informer: existing, synced: existing.whenSynced(), stop: async () => undefined };
  const factory = new SharedInformerFactory({ client, clock, random, log, transform });
  const informer = factory.informer(type);
  const ending = new AbortController();
  const running = factory.start(AbortSignal.any([ending.signal, signal]));
  // Awaited when it is stopped; until then a failure must not count as unhandled.
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
