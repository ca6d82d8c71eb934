/**
 * ConfigMaps and Secrets that pods of this node refer to, and nothing else: the API lets a node read those of its pods
 * only, each by its name. How changes are found out is the strategy of release 1.24
 * (`configMapAndSecretChangeDetectionStrategy`):
 *
 *   - `Watch`: one watch per object, whoever and how many of the node's pods use it, opened by one request where the
 *     server streams the initial state; all watches share the client's connection. Immutable objects are not watched.
 *   - `Cache`: an object is read again when what was read is older than the node's annotation says, a minute without.
 *   - `Get`: it is read each time that it is needed.
 *
 * May be shared by all node agents of a process.
 */
import type { Clock } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';
import { type Place, type Referable, WatchedObject } from '#nodeagent/objects/watched-object.js';

export type ChangeDetection =
  | { readonly strategy: 'Watch' }
  /** `ttlMs`: how long what was read is good. */
  | { readonly strategy: 'Cache'; readonly ttlMs: () => number }
  | { readonly strategy: 'Get' };

export interface ReferencedObjectsOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** There is no API: nothing can be referred to. */
  readonly isStandalone?: boolean;
  /** Default: `Watch`. */
  readonly detection?: ChangeDetection;
}

/** An object, and the UIDs of the pods that use it. */
interface Followed {
  readonly users: Set<string>;
  readonly object: WatchedObject<Referable> | CachedObject<Referable>;
}

export class ReferencedObjects {
  readonly #options: ReferencedObjectsOptions;
  readonly #server = { streams: true };
  readonly #followed = new Map<string, Followed>();
  readonly #byUser = new Map<string, Set<string>>();
  readonly #handlers = new Set<(podUID: string) => void>();

  constructor(options: ReferencedObjectsOptions) {
    this.#options = options;
  }

  /** Calls back with the UID of each pod that uses an object which changed. */
  onChange(handler: (podUID: string) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /**
   * The object as it is now, undefined when it does not exist. It is followed until the pod is released. Rejects when the
   * API does not tell in time.
   */
  async get<T extends Referable>(type: ResourceType<T>, place: Place, podUID: string): Promise<T | undefined> {
    if (this.#options.isStandalone === true) {
      throw new Error(`cannot use ${type.singular} "${place.name}" because no client of the API is configured`);
    }
    const key = `${type.resource}/${place.namespace}/${place.name}`;
    const followed = this.#followed.get(key) ?? this.#follow(type, place);
    this.#followed.set(key, followed);
    if (!followed.users.has(podUID) && followed.object instanceof CachedObject) followed.object.expire();
    followed.users.add(podUID);
    const keys = this.#byUser.get(podUID) ?? new Set();
    this.#byUser.set(podUID, keys.add(key));
    try {
      return (await followed.object.get()) as T | undefined;
    } catch (error) {
      throw new Error(`failed to sync ${type.singular} cache: ${(error as Error).message}`, { cause: error });
    }
  }

  #follow<T extends Referable>(type: ResourceType<T>, place: Place): Followed {
    const users = new Set<string>();
    const { detection = { strategy: 'Watch' }, ...options } = this.#options;
    if (detection.strategy === 'Watch') {
      const onChange = () => {
        for (const uid of [...users]) for (const handler of this.#handlers) handler(uid);
      };
      const object = new WatchedObject<T>(type, place, { ...options, server: this.#server, onChange });
      return { users, object: object as unknown as WatchedObject<Referable> };
    }
    const ttlMs = detection.strategy === 'Cache' ? detection.ttlMs : () => 0;
    const object = new CachedObject<T>(type, place, { ...options, ttlMs });
    return { users, object: object as unknown as CachedObject<Referable> };
  }

  /** The pod needs none of its objects any more. */
  release(podUID: string): void {
    for (const key of this.#byUser.get(podUID) ?? []) {
      const followed = this.#followed.get(key);
      followed?.users.delete(podUID);
      if (followed !== undefined && followed.users.size === 0) {
        followed.object.close();
        this.#followed.delete(key);
      }
    }
    this.#byUser.delete(podUID);
  }

  /** Number of objects followed. */
  get size(): number {
    return this.#followed.size;
  }

  close(): void {
    for (const { object } of this.#followed.values()) object.close();
    this.#followed.clear();
    this.#byUser.clear();
  }
}

interface CachedObjectOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** How long what was read is good; 0 or less: never. */
  readonly ttlMs: () => number;
}

interface Read<T> {
  /** Undefined: there is no such object. */
  readonly object: T | undefined;
  readonly at: number;
}

/** One object of the API, read when it is needed, and again when what was read is too old. */
class CachedObject<T extends ApiObject> {
  readonly #type: ResourceType<T>;
  readonly #place: Place;
  readonly #options: CachedObjectOptions;
  #last: Read<T> | undefined;
  #reading: Promise<Read<T>> | undefined;

  constructor(type: ResourceType<T>, place: Place, options: CachedObjectOptions) {
    this.#type = type;
    this.#place = place;
    this.#options = options;
  }

  /** What was read is too old for a pod that has just come. */
  expire(): void {
    if (this.#last !== undefined) this.#last = { ...this.#last, at: Number.NEGATIVE_INFINITY };
  }

  /** Undefined when it does not exist. When it cannot be read now, what was read before is good for longer. */
  async get(): Promise<T | undefined> {
    const { clock, ttlMs } = this.#options;
    const last = this.#last;
    // That there is none is asked anew each time: a pod waits for it.
    if (last?.object !== undefined && clock.monotonic() - last.at < ttlMs()) return last.object;
    try {
      // Many that ask at once ask one question.
      this.#reading ??= this.#read();
      this.#last = await this.#reading;
      return this.#last.object;
    } catch (error) {
      if (last?.object === undefined) throw error;
      return last.object;
    } finally {
      this.#reading = undefined;
    }
  }

  async #read(): Promise<Read<T>> {
    const { client, clock } = this.#options;
    const { namespace, name } = this.#place;
    // A second look may come from the server's memory.
    const version = this.#last?.object === undefined ? {} : { resourceVersion: '0' };
    const at = clock.monotonic();
    try {
      return { object: await client.resource(this.#type).get(name, { namespace, ...version }), at };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return { object: undefined, at };
    }
  }

  /** Nothing runs. */
  close(): void {}
}
