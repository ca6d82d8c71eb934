import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import type { Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';

export interface ResourceCache {
  readonly informer: Informer<ApiObject>;
  /** Resolves once the cache is filled; may reject when it ends before. */
  readonly synced: Promise<void>;
  /**
   * Stops what was started for this cache only; handlers are removed by whoever added them. Rejects if its watch
   * failed.
   */
  stop(): Promise<void>;
}

export interface CacheOptions {
  /** For a cache of its own: drops the fields that nobody reads, to save memory. */
  readonly transform: <T extends ApiObject>(object: T) => T;
  readonly signal: AbortSignal;
  /** Told of a watch that ended by itself. */
  readonly failed: (error: unknown) => void;
}

/**
 * The cache of a resource that is known by discovery only: the shared one if another controller has it already, else
 * one of a factory of its own, so that it can be stopped when the resource is removed and nobody else waits for its
 * sync.
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
  // `stop` awaits it; until then a rejection must not be unhandled.
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
