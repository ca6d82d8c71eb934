/** The store of one resource, filled by one reflector, with its event handlers. */

import type { OwnMetadata } from '#api/meta/object.js';
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import { type Clock, type Timer, upkeepClock } from '#apimachinery/clock.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client, WatchEvent } from '#client/client.js';
import type { EventHandler, HandlerOptions, Informer, InformerOptions, ObjectKey } from '#client/informer/informer.js';
import { noReflectorMetrics, type ReflectorMetrics } from '#client/informer/metrics.js';
import { Reflector, type ReflectorSink } from '#client/informer/reflector.js';
import { shareEqual } from '#client/informer/share-equal.js';
import { type IndexFunction, Store } from '#client/informer/store.js';
import type { Logger } from '#daemon/log/logger.js';

export interface SharedInformerDependencies {
  readonly client: Client;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics?: (size: () => number) => ReflectorMetrics;
  /** Resync period of handlers that set none; 0 or absent: never. */
  readonly resyncMs?: number;
  /** Whether to stream the initial state, if the server supports it. */
  readonly streamInitialState?: boolean;
  /** All informers of the resource, which mostly hold equal objects; may include this one. */
  readonly peers?: readonly Peer[];
}

/** Another informer of the same resource, for sharing objects. */
export interface Peer {
  /** The object that it holds, or has read and will hold. */
  newest(key: ObjectKey): ApiObject | undefined;
}

export class SharedInformer<T extends ApiObject> implements Informer<T>, ReflectorSink<T>, Peer {
  readonly #store: Store<T>;
  readonly #handlers = new Set<EventHandler<T>>();
  readonly #resyncs = new Map<EventHandler<T>, Timer>();
  readonly #clock: Clock;
  readonly #resyncMs: number;
  readonly #transformer: ((object: T & OwnMetadata) => T) | undefined;
  readonly #log: Logger;
  readonly #metrics: ReflectorMetrics;
  readonly #reflector: Reflector<T>;
  readonly #synced: Deferred<void> = deferred();
  /** The last object read: lists are sorted by name, so objects of one controller follow each other and share parts. */
  #last: T | undefined;
  readonly #peers: readonly Peer[];
  /** Objects of a state that is not in the store yet; peers may be reading the same state. */
  #incoming = new Map<ObjectKey, T>();
  #hasSynced = false;

  constructor(type: ResourceType<T>, options: InformerOptions<T>, dependencies: SharedInformerDependencies) {
    const { client, clock, random, log, metrics, peers = [] } = dependencies;
    const { namespace, labelSelector, fieldSelector } = options;
    this.#clock = clock;
    this.#peers = peers;
    this.#resyncMs = dependencies.resyncMs ?? 0;
    this.#store = new Store(options.indexers);
    this.#transformer = options.transform;
    this.#log = log.child({ resource: type.resource });
    this.#metrics = metrics?.(() => this.#store.size) ?? noReflectorMetrics;
    this.#reflector = new Reflector<T>({
      client: client.resource(type),
      scope: {
        ...(namespace === undefined ? {} : { namespace }),
        ...(labelSelector === undefined ? {} : { labelSelector }),
        ...(fieldSelector === undefined ? {} : { fieldSelector }),
      },
      sink: this,
      clock,
      random,
      log: this.#log,
      metrics: this.#metrics,
      initialEventsEnd: dependencies.streamInitialState === true ? client.dialect.bookmarkAnnotation : undefined,
    });
  }

  get size(): number {
    return this.#store.size;
  }

  get lastVersion(): string {
    return this.#reflector.lastVersion;
  }

  get(key: ObjectKey): T | undefined {
    return this.#store.get(key);
  }

  newest(key: ObjectKey): T | undefined {
    return this.#incoming.get(key) ?? this.#store.get(key);
  }

  list(namespace?: string): T[] {
    return this.#store.list(namespace);
  }

  byIndex(index: string, value: string): T[] {
    return this.#store.byIndex(index, value);
  }

  addIndexers(indexers: Record<string, IndexFunction<T>>): void {
    this.#store.addIndexers(indexers);
  }

  hasSynced(): boolean {
    return this.#hasSynced;
  }

  whenSynced(): Promise<void> {
    return this.#synced.promise;
  }

  addHandler(handler: EventHandler<T>, { resyncMs = this.#resyncMs }: HandlerOptions = {}): () => void {
    // A handler that is added twice is registered twice.
    const registered: EventHandler<T> = {
      onAdd: (object, initial) => handler.onAdd?.(object, initial),
      onUpdate: (object, old) => handler.onUpdate?.(object, old),
      onDelete: (object) => handler.onDelete?.(object),
    };
    for (const object of this.#store.list()) this.#call(registered, (h) => h.onAdd?.(object, true));
    this.#handlers.add(registered);
    if (resyncMs > 0) this.#scheduleResync(registered, resyncMs);
    return () => {
      this.#handlers.delete(registered);
      this.#resyncs.get(registered)?.cancel();
      this.#resyncs.delete(registered);
    };
  }

  #scheduleResync(handler: EventHandler<T>, ms: number): void {
    const resync = () => {
      for (const object of this.#store.list()) this.#call(handler, (h) => h.onUpdate?.(object, object));
      if (this.#handlers.has(handler)) this.#scheduleResync(handler, ms);
    };
    this.#resyncs.set(handler, upkeepClock(this.#clock).setTimer(resync, ms));
  }

  /** Runs until `signal` aborts. Called once, by the factory. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#reflector.run(signal);
    } finally {
      for (const timer of this.#resyncs.values()) timer.cancel();
      this.#resyncs.clear();
    }
  }

  /** Shares the object's parts with stored objects as it arrives, so that memory never holds two full lists. */
  take(object: T): T {
    const key = keyOf(object);
    const interned = this.#intern(object, key);
    if (interned !== this.#store.get(key)) this.#incoming.set(key, interned);
    return interned;
  }

  /**
   * Turns the difference between the store and the complete state into events: deletions first, then the rest in order.
   */
  replace(objects: T[]): void {
    const initial = !this.#hasSynced;
    const listed = new Map<ObjectKey, T>();
    for (const object of objects) listed.set(keyOf(object), object);
    for (const key of [...this.#store.keys()]) if (!listed.has(key)) this.#remove(key);
    for (const [key, object] of listed) this.#put(key, object, initial);
    this.#incoming = new Map();
    if (!initial) return;
    this.#hasSynced = true;
    this.#synced.resolve();
  }

  apply(event: WatchEvent<T>): void {
    switch (event.type) {
      case 'ADDED':
      case 'MODIFIED':
        this.#put(keyOf(event.object), this.#intern(event.object), false);
        return;
      case 'DELETED':
        this.#remove(keyOf(event.object), event.object);
        return;
      case 'BOOKMARK':
        return;
      default:
        event.type satisfies never;
    }
  }

  /** The object in stored form, sharing parts with existing ones. */
  #intern(object: T, key = keyOf(object)): T {
    const stored = this.#store.get(key);
    if (stored !== undefined && sameVersion(stored, object)) return stored;
    return this.#shareParts(key, this.#transform(object), stored);
  }

  /** `object`: in stored form. */
  #put(key: ObjectKey, object: T, initial: boolean): void {
    const stored = this.#store.get(key);
    // Without a resource version the states cannot be compared.
    if (stored === object && stored.metadata.resourceVersion !== undefined) return;
    const recreated = stored !== undefined && stored.metadata.uid !== object.metadata.uid;
    // A different object with the same name: handlers that keep state by UID must see the old one deleted.
    if (recreated) this.#remove(key);
    const old = this.#store.set(key, object);
    if (old === undefined) this.#notify((handler) => handler.onAdd?.(object, initial));
    else this.#notify((handler) => handler.onUpdate?.(object, old));
  }

  /** Shares equal parts of the object with peers, the stored object or the last one read. */
  #shareParts(key: ObjectKey, object: T, stored: T | undefined): T {
    for (const peer of this.#peers) {
      const same = peer === this ? undefined : peer.newest(key);
      if (same !== undefined && sameVersion(same, object)) return shareEqual(object, same);
    }
    this.#last = shareEqual(object, stored ?? this.#last);
    return this.#last;
  }

  /** `last`: the state at deletion, if the watch delivered it. */
  #remove(key: ObjectKey, last?: T): void {
    const old = this.#store.delete(key);
    if (old === undefined) return;
    const object = last === undefined ? old : this.#transform(last);
    this.#notify((handler) => handler.onDelete?.(object));
  }

  /** Stores the object untransformed if the transform fails: one object must not block the others. */
  #transform(object: T): T {
    if (this.#transformer === undefined) return object;
    try {
      // Objects share parts with others, but never their metadata.
      return this.#transformer(object as T & OwnMetadata);
    } catch (error) {
      this.#metrics.handlerFailed();
      this.#log.error({ err: error, key: keyOf(object) }, 'transform failed');
      return object;
    }
  }

  #notify(call: (handler: EventHandler<T>) => void): void {
    for (const handler of [...this.#handlers]) this.#call(handler, call);
  }

  /** Logs errors of handlers; the other handlers still get the event. */
  #call(handler: EventHandler<T>, call: (handler: EventHandler<T>) => void): void {
    try {
      call(handler);
    } catch (error) {
      this.#metrics.handlerFailed();
      this.#log.error({ err: error }, 'event handler failed');
    }
  }
}

/** Whether it is the same version, from a relist or a watch that resumed a little early. */
function sameVersion(a: ApiObject, b: ApiObject): boolean {
  const version = a.metadata.resourceVersion;
  return version !== undefined && version === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid;
}
