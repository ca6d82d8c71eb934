/** A local copy of a resource that converges with the server, and the events of its changes. */

import type { OwnMetadata } from '#api/meta/object.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';

/** `namespace/name`, or `name` for cluster-scoped objects. */
export type ObjectKey = string;

export interface EventHandler<T> {
  onAdd?(object: T, isInInitialList: boolean): void;
  onUpdate?(object: T, old: T): void;
  /** `object` is the last state received. */
  onDelete?(object: T): void;
}

export interface HandlerOptions {
  /** 0: never; absent: the factory's period. */
  readonly resyncMs?: number;
}

/** Read side of an informer. Objects are shared: copy before changing. */
export interface Lister<T> {
  get(key: ObjectKey): T | undefined;
  list(namespace?: string): T[];
  /** Objects with `value` in the index; throws RangeError for an unknown index. */
  byIndex(index: string, value: string): T[];
  readonly size: number;
}

export interface InformerOptions<T> {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Index name → values of an object. */
  indexers?: Record<string, (object: T) => readonly string[]>;
  /** Applied to each object before it is stored, e.g. to drop managedFields. */
  transform?: (object: T & OwnMetadata) => T;
}

export interface Informer<T extends ApiObject> extends Lister<T> {
  /**
   * Handlers added after the sync get onAdd for each existing object. With `resyncMs` they get a periodic onUpdate for
   * each object, with equal old and new. Returns a function that removes the handler.
   */
  addHandler(handler: EventHandler<T>, options?: HandlerOptions): () => void;
  /** Adds indexes; may be called at any time. */
  addIndexers(indexers: Record<string, (object: T) => readonly string[]>): void;
  hasSynced(): boolean;
  /** Resolves when the first list is in the store and its handlers have run. */
  whenSynced(): Promise<void>;
  /** Changes up to this resource version are in the store and were handled; empty before the first list. */
  readonly lastVersion: string;
}

/** Shares one informer per resource and options. */
export interface InformerFactory {
  readonly client: Client;
  informer<T extends ApiObject>(type: ResourceType<T>, options?: InformerOptions<T>): Informer<T>;
  /** The informer of all objects of the resource, if it exists. */
  existing<T extends ApiObject>(type: ResourceType<T>): Informer<T> | undefined;
  /** Starts all informers created so far, and later ones when they are created; resolves when `signal` aborts. */
  start(signal: AbortSignal): Promise<void>;
  /** Resolves when every informer created so far has synced; rejects if `signal` aborts first. */
  waitForSync(signal?: AbortSignal): Promise<void>;
}
