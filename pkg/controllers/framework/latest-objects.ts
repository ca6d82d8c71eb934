/**
 * A cache that shows the controller's own writes at once, for controllers whose keys share objects. After one claim is
 * bound to a volume, the next claim must not select that volume, even if the informer does not show the write yet.
 */
import type { Clock } from '#apimachinery/clock.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ApiObject } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import { isOlder, writtenTimeoutMs } from '#controllers/framework/written-objects.js';

interface Written<T> {
  readonly object: T;
  readonly sinceMs: number;
}

export class LatestObjects<T extends ApiObject> {
  readonly #cache: Informer<T>;
  readonly #clock: Clock;
  /** By key. An entry is removed when the cache shows the write, so the map is as large as the cache's lag. */
  readonly #written = new Map<string, Written<T>>();

  constructor(cache: Informer<T>, clock: Clock) {
    this.#cache = cache;
    this.#clock = clock;
  }

  /** Records the response to a write, and returns it. */
  wrote(object: T): T {
    this.#written.set(keyOf(object), { object, sinceMs: this.#clock.monotonic() });
    return object;
  }

  get(key: string): T | undefined {
    return this.#ahead(key) ?? this.#cache.get(key);
  }

  /** Objects of an index, and all writes that the cache does not show: callers must filter the result again. */
  byIndex(index: string, value: string): T[] {
    const ahead = new Map([...this.#written.keys()].map((key) => [key, this.#ahead(key)]));
    const objects = this.#cache.byIndex(index, value).filter((object) => ahead.get(keyOf(object)) === undefined);
    for (const object of ahead.values()) if (object !== undefined) objects.push(object);
    return objects;
  }

  /** The written object while the cache does not show it. */
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
