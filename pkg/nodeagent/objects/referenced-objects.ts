/**
 * ConfigMaps and Secrets that pods of this node refer to: the API lets a node read only those, each by name. The
 * detection of changes follows release 1.24's strategy (`configMapAndSecretChangeDetectionStrategy`):
 *
 *   - `Watch`: one watch per object, shared by all pods of the node, opened by one request if the server streams the
 *     initial state; all watches share the client's connection. Immutable objects are not watched.
 *   - `Cache`: an object is reread when it is older than the node's annotation says, by default a minute.
 *   - `Get`: an object is read on every use.
 *
 * All node agents of a process may share one instance.
 */
import type { Clock } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';
import { type ObjectLocation, type Referable, WatchedObject } from '#nodeagent/objects/watched-object.js';

export type ChangeDetection =
  | { readonly strategy: 'Watch' }
  /** `ttlMs`: how long a read object is valid. */
  | { readonly strategy: 'Cache'; readonly ttlMs: () => number }
  | { readonly strategy: 'Get' };

export interface ReferencedObjectsOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** Without an API, references fail. */
  readonly isStandalone?: boolean;
  /** Default: `Watch`. */
  readonly detection?: ChangeDetection;
}

/** An object, and the UIDs of the pods that use it. */
interface TrackedObject {
  readonly users: Set<string>;
  readonly object: WatchedObject<Referable> | CachedObject<Referable>;
}

export class ReferencedObjects {
  readonly #options: ReferencedObjectsOptions;
  readonly #server = { streams: true };
  readonly #tracked = new Map<string, TrackedObject>();
  readonly #byUser = new Map<string, Set<string>>();
  readonly #handlers = new Set<(podUID: string) => void>();

  constructor(options: ReferencedObjectsOptions) {
    this.#options = options;
  }

  /** Calls back with the UID of each pod that uses a changed object. */
  onChange(handler: (podUID: string) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /**
   * The current object, undefined if it does not exist. It is tracked until the pod is released. Rejects if the API
   * does not answer in time.
   */
  async get<T extends Referable>(type: ResourceType<T>, place: ObjectLocation, podUID: string): Promise<T | undefined> {
    if (this.#options.isStandalone === true) {
      throw new Error(`cannot use ${type.singular} "${place.name}" because no client of the API is configured`);
    }
    const key = `${type.resource}/${place.namespace}/${place.name}`;
    const tracked = this.#tracked.get(key) ?? this.#track(type, place);
    this.#tracked.set(key, tracked);
    if (!tracked.users.has(podUID) && tracked.object instanceof CachedObject) tracked.object.expire();
    tracked.users.add(podUID);
    const keys = this.#byUser.get(podUID) ?? new Set();
    this.#byUser.set(podUID, keys.add(key));
    try {
      return (await tracked.object.get()) as T | undefined;
    } catch (error) {
      throw new Error(`failed to sync ${type.singular} cache: ${(error as Error).message}`, { cause: error });
    }
  }

  #track<T extends Referable>(type: ResourceType<T>, place: ObjectLocation): TrackedObject {
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

  /** Stops tracking objects for the pod. */
  release(podUID: string): void {
    for (const key of this.#byUser.get(podUID) ?? []) {
      const tracked = this.#tracked.get(key);
      tracked?.users.delete(podUID);
      if (tracked !== undefined && tracked.users.size === 0) {
        tracked.object.close();
        this.#tracked.delete(key);
      }
    }
    this.#byUser.delete(podUID);
  }

  /** Number of tracked objects. */
  get size(): number {
    return this.#tracked.size;
  }

  close(): void {
    for (const { object } of this.#tracked.values()) object.close();
    this.#tracked.clear();
    this.#byUser.clear();
  }
}

interface CachedObjectOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** How long a read object is valid; 0 or less: never. */
  readonly ttlMs: () => number;
}

interface ReadResult<T> {
  /** Undefined if the object does not exist. */
  readonly object: T | undefined;
  readonly at: number;
}

/** An object of the API that is read on demand, and reread when it is too old. */
class CachedObject<T extends ApiObject> {
  readonly #type: ResourceType<T>;
  readonly #location: ObjectLocation;
  readonly #options: CachedObjectOptions;
  #last: ReadResult<T> | undefined;
  #reading: Promise<ReadResult<T>> | undefined;

  constructor(type: ResourceType<T>, place: ObjectLocation, options: CachedObjectOptions) {
    this.#type = type;
    this.#location = place;
    this.#options = options;
  }

  /** Forces a reread for a new pod. */
  expire(): void {
    if (this.#last !== undefined) this.#last = { ...this.#last, at: Number.NEGATIVE_INFINITY };
  }

  /** Undefined if it does not exist. If a reread fails, the old object stays valid. */
  async get(): Promise<T | undefined> {
    const { clock, ttlMs } = this.#options;
    const last = this.#last;
    // A missing object is reread each time, since a pod waits for it.
    if (last?.object !== undefined && clock.monotonic() - last.at < ttlMs()) return last.object;
    try {
      // Concurrent calls share one request.
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

  async #read(): Promise<ReadResult<T>> {
    const { client, clock } = this.#options;
    const { namespace, name } = this.#location;
    // A reread may be served from the server's cache.
    const version = this.#last?.object === undefined ? {} : { resourceVersion: '0' };
    const at = clock.monotonic();
    try {
      return { object: await client.resource(this.#type).get(name, { namespace, ...version }), at };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return { object: undefined, at };
    }
  }

  /** There is nothing to stop. */
  close(): void {}
}
