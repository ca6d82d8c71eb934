/**
 * ConfigMaps and Secrets that pods of this node refer to: one watch per object for as long as a pod needs it, so that
 * changes arrive at once and nothing else is ever read. May be shared by all node agents of a process.
 */
import type { Clock } from '#apimachinery/clock.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client, WatchEvent } from '#client/client.js';
import { noReflectorMetrics } from '#client/informer/metrics.js';
import { Reflector } from '#client/informer/reflector.js';
import type { Logger } from '#daemon/log/logger.js';

export interface ReferencedObjectsOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** There is no API: nothing can be referred to. */
  readonly isStandalone?: boolean;
}

/** How long a pod's start waits for the first answer about an object before it is tried again. */
const firstAnswerMs = 5000;

class Watched<T extends ApiObject> {
  readonly users = new Set<string>();
  readonly #stop = new AbortController();
  readonly #first: Promise<void>;
  #object: T | undefined;
  #synced = false;

  constructor(
    type: ResourceType<T>,
    place: { namespace: string; name: string },
    options: ReferencedObjectsOptions,
    onChange: () => void,
  ) {
    let answered: () => void = () => undefined;
    this.#first = new Promise((resolve) => {
      answered = resolve;
    });
    const set = (object: T | undefined) => {
      const changed = this.#synced && this.#object?.metadata.resourceVersion !== object?.metadata.resourceVersion;
      this.#object = object;
      this.#synced = true;
      answered();
      if (changed) onChange();
    };
    const reflector = new Reflector<T>({
      client: options.client.resource(type),
      scope: { namespace: place.namespace, fieldSelector: `metadata.name=${place.name}` },
      sink: {
        replace: (objects) => set(objects[0]),
        apply: (event: WatchEvent<T>) => {
          if (event.type === 'BOOKMARK') return;
          set(event.type === 'DELETED' ? undefined : event.object);
        },
      },
      clock: options.clock,
      random: options.random,
      log: options.log,
      metrics: noReflectorMetrics,
    });
    void reflector.run(this.#stop.signal);
  }

  /** Undefined when it does not exist; rejects when that cannot be found out in time. */
  async get(clock: Clock): Promise<T | undefined> {
    if (!this.#synced) await Promise.race([this.#first, clock.sleep(firstAnswerMs, this.#stop.signal)]);
    if (!this.#synced) throw new Error('timed out waiting for the condition');
    return this.#object;
  }

  close(): void {
    this.#stop.abort();
  }
}

export class ReferencedObjects {
  readonly #options: ReferencedObjectsOptions;
  readonly #watched = new Map<string, Watched<ApiObject>>();
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
   * The object as it is now, undefined when it does not exist. It stays watched until the pod is released. Rejects
   * when the API does not tell in time.
   */
  async get<T extends ApiObject>(
    type: ResourceType<T>,
    place: { namespace: string; name: string },
    podUID: string,
  ): Promise<T | undefined> {
    if (this.#options.isStandalone === true) {
      throw new Error(`cannot use ${type.singular} "${place.name}" because no client of the API is configured`);
    }
    const key = `${type.resource}/${place.namespace}/${place.name}`;
    let watched = this.#watched.get(key) as Watched<T> | undefined;
    if (watched === undefined) {
      const made: Watched<T> = new Watched(type, place, this.#options, () => this.#changed(made));
      watched = made;
      this.#watched.set(key, made as unknown as Watched<ApiObject>);
    }
    watched.users.add(podUID);
    const keys = this.#byUser.get(podUID) ?? new Set();
    this.#byUser.set(podUID, keys.add(key));
    try {
      return await watched.get(this.#options.clock);
    } catch (error) {
      throw new Error(`failed to sync ${type.singular} cache: ${(error as Error).message}`, { cause: error });
    }
  }

  #changed(watched: { users: ReadonlySet<string> }): void {
    for (const uid of [...watched.users]) for (const handler of this.#handlers) handler(uid);
  }

  /** The pod needs none of its objects any more. */
  release(podUID: string): void {
    for (const key of this.#byUser.get(podUID) ?? []) {
      const watched = this.#watched.get(key);
      watched?.users.delete(podUID);
      if (watched !== undefined && watched.users.size === 0) {
        watched.close();
        this.#watched.delete(key);
      }
    }
    this.#byUser.delete(podUID);
  }

  /** Number of objects watched. */
  get size(): number {
    return this.#watched.size;
  }

  close(): void {
    for (const watched of this.#watched.values()) watched.close();
    this.#watched.clear();
    this.#byUser.clear();
  }
}
