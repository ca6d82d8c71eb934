/** One resource's store, kept by one reflector, and the handlers of its changes. */

import type { OwnMetadata } from '#api/meta/object.js';
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
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
  /** The resync period of handlers that do not set one; 0 or absent: never. */
  readonly resyncMs?: number;
  /** Whether to have the initial state streamed, where the server does that. */
  readonly streamInitialState?: boolean;
  /** All informers of the resource, which mostly have the same objects; it may be among them. */
  readonly peers?: readonly Peer[];
}

/** Another informer of the same resource. */
export interface Peer {
  /** The object that it has, or has read and is about to have. */
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
  /** The object that was read last: lists are in the order of names, and those of one controller follow each other. */
  #last: T | undefined;
  readonly #peers: readonly Peer[];
  /** What was taken of a state that is not in the store yet: peers may be reading the same one. */
  #taken = new Map<ObjectKey, T>();
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
    return this.#taken.get(key) ?? this.#store.get(key);
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
    // A handler object added twice is two registrations.
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
    this.#resyncs.set(handler, this.#clock.setTimer(resync, ms));
  }

  /** Works until `signal` aborts. Called once, by the factory. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#reflector.run(signal);
    } finally {
      for (const timer of this.#resyncs.values()) timer.cancel();
      this.#resyncs.clear();
    }
  }

  /** The object as it will be in the store, already made of what is there: a list of all objects is never held twice. */
  take(object: T): T {
    const key = keyOf(object);
    const taken = this.#kept(object, key);
    if (taken !== this.#store.get(key)) this.#taken.set(key, taken);
    return taken;
  }

  /**
   * The difference between the store and the complete state becomes events: deletions first, then the rest in order.
   */
  replace(objects: T[]): void {
    const initial = !this.#hasSynced;
    const listed = new Map<ObjectKey, T>();
    for (const object of objects) listed.set(keyOf(object), object);
    for (const key of [...this.#store.keys()]) if (!listed.has(key)) this.#remove(key);
    for (const [key, object] of listed) this.#put(key, object, initial);
    this.#taken = new Map();
    if (!initial) return;
    this.#hasSynced = true;
    this.#synced.resolve();
  }

  apply(event: WatchEvent<T>): void {
    switch (event.type) {
      case 'ADDED':
      case 'MODIFIED':
        this.#put(keyOf(event.object), this.#kept(event.object), false);
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

  /** The object as it is kept, made of what is there already. */
  #kept(object: T, key = keyOf(object)): T {
    const known = this.#store.get(key);
    if (known !== undefined && sameVersion(known, object)) return known;
    return this.#shared(key, this.#transform(object), known);
  }

  /** `object`: as it is kept. */
  #put(key: ObjectKey, object: T, initial: boolean): void {
    const known = this.#store.get(key);
    // Without a version nobody can tell whether it is another state.
    if (known === object && known.metadata.resourceVersion !== undefined) return;
    const recreated = known !== undefined && known.metadata.uid !== object.metadata.uid;
    // Another object under the same name: whoever holds state by uid must see the first one go.
    if (recreated) this.#remove(key);
    const old = this.#store.set(key, object);
    if (old === undefined) this.#notify((handler) => handler.onAdd?.(object, initial));
    else this.#notify((handler) => handler.onUpdate?.(object, old));
  }

  /** The object, made of what is there already as far as that is equal. */
  #shared(key: ObjectKey, object: T, known: T | undefined): T {
    for (const peer of this.#peers) {
      const same = peer === this ? undefined : peer.newest(key);
      if (same !== undefined && sameVersion(same, object)) return shareEqual(object, same);
    }
    this.#last = shareEqual(object, known ?? this.#last);
    return this.#last;
  }

  /** `last`: the state at the deletion, where the watch told it. */
  #remove(key: ObjectKey, last?: T): void {
    const old = this.#store.delete(key);
    if (old === undefined) return;
    const object = last === undefined ? old : this.#transform(last);
    this.#notify((handler) => handler.onDelete?.(object));
  }

  /** An object on which the transform fails is stored as it is: one object must not block all others. */
  #transform(object: T): T {
    if (this.#transformer === undefined) return object;
    try {
      // Readers share parts of objects, and never their metadata.
      return this.#transformer(object as T & OwnMetadata);
    } catch (error) {
      this.#metrics.handlerFailed();
      this.#log.error({ err: error, key: keyOf(object) }, 'Transform failed');
      return object;
    }
  }

  #notify(call: (handler: EventHandler<T>) => void): void {
    for (const handler of [...this.#handlers]) this.#call(handler, call);
  }

  /** A handler that throws is logged; the other handlers still get the event. */
  #call(handler: EventHandler<T>, call: (handler: EventHandler<T>) => void): void {
    try {
      call(handler);
    } catch (error) {
      this.#metrics.handlerFailed();
      this.#log.error({ err: error }, 'Event handler failed');
    }
  }
}

/** The very same state again: from a relist, or a watch that resumed a little early. */
function sameVersion(a: ApiObject, b: ApiObject): boolean {
  const version = a.metadata.resourceVersion;
  return version !== undefined && version === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid;
}
