/** A resource's objects in memory, for synchronous decisions. */

import type { ApiObjectShape } from '#api/meta/object.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';

/** Data derived from each object. */
export interface MirrorHandler<T> {
  put(object: T, old: T | undefined): void;
  drop(object: T): void;
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
    this.#objects.set(key, object);
    this.#handler?.put(object, old);
  }

  removed(object: T): void {
    const key = keyOf(object);
    this.#drop(key, this.#objects.get(key) ?? object);
  }

  #drop(key: string, object: T): void {
    this.#objects.delete(key);
    this.#handler?.drop(object);
  }
}
