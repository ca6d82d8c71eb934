/** The objects of an informer by key, with indexes that follow every change. */
import { sameItems } from '#apimachinery/equality.js';
import type { ApiObject } from '#client/client.js';
import type { Lister, ObjectKey } from '#client/informer/informer.js';

export type IndexFunction<T> = (object: T) => readonly string[];

/** The namespace index, which every store has. */
const namespaceIndex = 'namespace';

interface Index<T> {
  readonly of: IndexFunction<T>;
  readonly keys: Map<string, Set<ObjectKey>>;
}

/** One writer, the informer; any number of readers. */
export class Store<T extends ApiObject> implements Lister<T> {
  readonly #objects = new Map<ObjectKey, T>();
  readonly #indexes = new Map<string, Index<T>>();

  constructor(indexers: Readonly<Record<string, IndexFunction<T>>> = {}) {
    this.addIndexers({ [namespaceIndex]: (object) => [object.metadata.namespace ?? ''], ...indexers });
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(key);
  }

  list(namespace?: string): T[] {
    return namespace === undefined ? [...this.#objects.values()] : this.byIndex(namespaceIndex, namespace);
  }

  keys(): IterableIterator<ObjectKey> {
    return this.#objects.keys();
  }

  byIndex(index: string, value: string): T[] {
    const entry = this.#indexes.get(index);
    if (entry === undefined) throw new RangeError(`unknown index ${JSON.stringify(index)}`);
    const objects: T[] = [];
    for (const key of entry.keys.get(value) ?? []) {
      const object = this.#objects.get(key);
      if (object !== undefined) objects.push(object);
    }
    return objects;
  }

  /** Adds indexes over existing and future objects. Throws RangeError if the name has another function. */
  addIndexers(indexers: Readonly<Record<string, IndexFunction<T>>>): void {
    for (const [name, indexer] of Object.entries(indexers)) {
      const existing = this.#indexes.get(name);
      if (existing !== undefined) {
        // Parts that share an informer may both add the same index, each with its own copy of the function.
        if (existing.of === indexer || String(existing.of) === String(indexer)) continue;
        throw new RangeError(`index ${JSON.stringify(name)} exists with another function`);
      }
      const index: Index<T> = { of: indexer, keys: new Map() };
      for (const [key, object] of this.#objects) insert(index, key, indexer(object));
      this.#indexes.set(name, index);
    }
  }

  /** Stores the object and returns the one it replaces. */
  set(key: ObjectKey, object: T): T | undefined {
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) {
      const values = index.of(object);
      if (old !== undefined) {
        const before = index.of(old);
        // Most changes leave most indexes unchanged.
        if (sameItems(before, values)) continue;
        remove(index, key, before);
      }
      insert(index, key, values);
    }
    return old;
  }

  /** Removes and returns the object. */
  delete(key: ObjectKey): T | undefined {
    const old = this.#objects.get(key);
    if (old === undefined) return undefined;
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) remove(index, key, index.of(old));
    return old;
  }
}

function insert<T>(index: Index<T>, key: ObjectKey, values: readonly string[]): void {
  for (const value of values) {
    const keys = index.keys.get(value);
    if (keys === undefined) index.keys.set(value, new Set([key]));
    else keys.add(key);
  }
}

function remove<T>(index: Index<T>, key: ObjectKey, values: readonly string[]): void {
  for (const value of values) {
    const keys = index.keys.get(value);
    if (keys?.delete(key) === true && keys.size === 0) index.keys.delete(value);
  }
}
