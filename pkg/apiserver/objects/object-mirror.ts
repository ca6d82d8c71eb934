/** A resource's objects in memory, for synchronous decisions. */

import type { ApiObjectShape } from '#api/meta/object.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';

/** Data derived from each object. */
export interface MirrorHandler<T> {
  put?(object: T, old: T | undefined): void;
  drop?(object: T): void;
  /** Called before `put` and `drop`, while the mirror has the old state. */
  changing?(change: MirrorChange<T>): void;
  /** Called after them. */
  changed?(change: MirrorChange<T>): void;
}

export interface MirrorChange<T> {
  /** Undefined for a new object. */
  readonly old: T | undefined;
  /** Undefined for a removed object. */
  readonly now: T | undefined;
  /** Resource version of the change; undefined for a removal that was not seen. */
  readonly version: string | undefined;
}

export class Mirror<T extends ApiObjectShape> implements Follower<T> {
  readonly #objects = new Map<string, T>();
  readonly #handler: MirrorHandler<T> | undefined;
  #synced = false;

  constructor(handler?: MirrorHandler<T>) {
    this.#handler = handler;
  }

  /** Starts following; resolves with the first state. */
  start(reader: ObjectReader, type: ResourceType<T>, signal: AbortSignal): Promise<void> {
    return reader.follow(type, this, signal);
  }

  get synced(): boolean {
    return this.#synced;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#objects.get(keyFor(namespace, name));
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  replaced(objects: readonly T[]): void {
    const keys = new Set(objects.map(keyOf));
    for (const [key, object] of this.#objects) if (!keys.has(key)) this.#drop(key, object);
    for (const object of objects) this.changed(object);
    this.#synced = true;
  }

  changed(object: T): void {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    if (old === object) return;
    const change = { old, now: object, version: object.metadata.resourceVersion };
    this.#handler?.changing?.(change);
    this.#objects.set(key, object);
    this.#handler?.put?.(object, old);
    this.#handler?.changed?.(change);
  }

  removed(object: T): void {
    const key = keyOf(object);
    this.#drop(key, this.#objects.get(key) ?? object, object.metadata.resourceVersion);
  }

  #drop(key: string, object: T, version?: string): void {
    const change = { old: object, now: undefined, version };
    this.#handler?.changing?.(change);
    this.#objects.delete(key);
    this.#handler?.drop?.(object);
    this.#handler?.changed?.(change);
  }
}
