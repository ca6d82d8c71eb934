/**
 * A cache that shows at once what its owner wrote. For controllers whose keys share objects: one claim's binding takes a
 * volume that the next claim must not try to take, long before the cache has heard of it.
 */
import type { Clock } from '#apimachinery/clock.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ApiObject } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import { isOlder, writtenTimeoutMs } from '#controllers/framework/written.js';

interface Written<T> {
  readonly object: T;
  readonly sinceMs: number;
}

export class LatestObjects<T extends ApiObject> {
  readonly #cache: Informer<T>;
  readonly #clock: Clock;
  /** By key. Entries go when the cache shows them, so that they are as many as the lag. */
  readonly #written = new Map<string, Written<T>>();

  constructor(cache: Informer<T>, clock: Clock) {
    this.#cache = cache;
    this.#clock = clock;
  }

  /** `object` is the answer to a write. Gives it back. */
  wrote(object: T): T {
    this.#written.set(keyOf(object), { object, sinceMs: this.#clock.monotonic() });
    return object;
  }

  get(key: string): T | undefined {
    return this.#ahead(key) ?? this.#cache.get(key);
  }

  /** Objects of an index, and whatever else was written: callers look at each once more. */
  byIndex(index: string, value: string): T[] {
    const ahead = new Map([...this.#written.keys()].map((key) => [key, this.#ahead(key)]));
    const objects = this.#cache.byIndex(index, value).filter((object) => ahead.get(keyOf(object)) === undefined);
    for (const object of ahead.values()) if (object !== undefined) objects.push(object);
    return objects;
  }

  /** What was written and the cache does not show yet. */
  #ahead(key: string): T | undefined {
    const written = this.#written.get(key);
    if (written === undefined) return undefined;
    const version = written.object.metadata.resourceVersion ?? '';
    const late = this.#clock.monotonic() - written.sinceMs >= writtenTimeoutMs;
    if (!late && isOlder(this.#cache.lastVersion, version)) return written.object;
    this.#written.delete(key);
    return undefined;
  }
}
