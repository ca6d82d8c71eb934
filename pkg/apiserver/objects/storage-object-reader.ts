/** Reads objects from the server's own cached storages. */

import type { ApiObjectShape } from '#api/meta/object.js';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { ResourceDeclaration, ResourceType } from '#apimachinery/schema/schema.js';
import type { Follower, Freshness, ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Entry, ReadVersion, ResourceStorage } from '#storage/resource-storage.js';

export interface StorageObjectReaderOptions {
  /** The storage of a resource; undefined if the server does not serve it. */
  readonly storageOf: (resource: ResourceDeclaration) => ResourceStorage | undefined;
  /** Pauses while a follower receives many objects. */
  readonly turns: Pick<TurnQueue, 'pause'>;
  readonly clock: Clock;
  readonly log: Logger;
}

const versions: Record<Freshness, ReadVersion> = { cached: { kind: 'any' }, latest: { kind: 'latest' } };
/** Delay before a broken stream of changes is restarted. */
const retryMs = 500;

export class StorageObjectReader implements ObjectReader {
  readonly #options: StorageObjectReaderOptions;
  readonly #storage = oncePer((type: ResourceDeclaration): ResourceStorage => {
    const storage = this.#options.storageOf(type);
    if (storage === undefined) throw new RangeError(`resource "${type.resource}" is not served`);
    return storage;
  });

  constructor(options: StorageObjectReaderOptions) {
    this.#options = options;
  }

  get<T extends ApiObjectShape>(
    type: ResourceType<T>,
    namespace: string,
    name: string,
    freshness: Freshness = 'cached',
  ): MaybePromise<T | undefined> {
    const storage = this.#storage(type);
    const key = keyFor(namespace, name);
    if (freshness === 'cached' && storage.ready()) return storage.cached(key)?.object() as T | undefined;
    return storage.get(key, versions[freshness]).then((entry) => entry?.object() as T | undefined);
  }

  outline<T extends ApiObjectShape>(
    type: ResourceType<T>,
    namespace: string,
    name: string,
  ): MaybePromise<T | undefined> {
    const storage = this.#storage(type);
    const key = keyFor(namespace, name);
    if (storage.ready()) return storage.cached(key)?.outline() as T | undefined;
    return storage.get(key, versions.cached).then((entry) => entry?.outline() as T | undefined);
  }

  list<T extends ApiObjectShape>(
    type: ResourceType<T>,
    namespace = '',
    freshness: Freshness = 'cached',
  ): MaybePromise<readonly T[]> {
    const storage = this.#storage(type);
    const scope = namespace === '' ? '' : `${namespace}/`;
    if (freshness === 'cached' && storage.ready()) return objectsOf(storage.cachedIn(scope));
    return storage.list({ scope, version: versions[freshness] }).then(({ entries }) => objectsOf(entries));
  }

  follow<T extends ApiObjectShape>(type: ResourceType<T>, follower: Follower<T>, signal: AbortSignal): Promise<void> {
    const storage = this.#storage(type);
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      this.#run(type, storage, follower, signal, resolve).catch(reject);
    });
  }

  async #run<T extends ApiObjectShape>(
    type: ResourceDeclaration,
    storage: ResourceStorage,
    follower: Follower<T>,
    signal: AbortSignal,
    synced: () => void,
  ): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      try {
        await storage.waitReady(signal);
        const { entries, revision } = await storage.list({ scope: '', version: { kind: 'any' }, signal });
        await this.#sendState(follower, entries, signal);
        synced();
        const version: ReadVersion = { kind: 'exact', revision };
        for await (const batch of storage.watch({ scope: '', version, bookmarks: false, signal }))
          for (const event of batch) {
            if (event.type === 'BOOKMARK' || follower.concerns?.(event.entry.json()) === false) continue;
            const object = (follower.outlines === true ? event.entry.outline() : event.entry.object()) as T;
            if (event.type === 'DELETED') follower.removed(object);
            else follower.changed(object);
          }
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ resource: type.resource, err: error }, 'lost the stream of changes; reading the state again');
      }
      await clock.sleep(retryMs, signal);
    }
  }

  /** Sends the whole state. */
  async #sendState<T extends ApiObjectShape>(
    follower: Follower<T>,
    entries: readonly Entry[],
    signal: AbortSignal,
  ): Promise<void> {
    const concerns = (entry: Entry) => follower.concerns?.(entry.json()) !== false;
    if (follower.only === undefined) {
      follower.replaced?.(entries.filter(concerns).map((entry) => entry.object() as T));
      return;
    }
    const keys = new Set<string>();
    for (const entry of entries) {
      await this.#options.turns.pause();
      signal.throwIfAborted();
      if (!concerns(entry)) continue;
      const object = (follower.outlines === true ? entry.outline() : entry.object()) as T;
      keys.add(keyOf(object));
      follower.changed(object);
    }
    follower.only(keys);
  }
}

function objectsOf<T>(entries: readonly Entry[]): readonly T[] {
  return entries.map((entry) => entry.object() as T);
}
