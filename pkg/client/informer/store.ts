/** The objects of an informer by key, with indexes that follow every change. */
import { sameItems } from '#apimachinery/equality.js';
import type { ApiObject } from '#client/client.js';
import type { Lister, ObjectKey } from '#client/informer/informer.js';

export type IndexFunction<T> = (object: T) => readonly string[];

/** Index name of namespaces, there in every store. */
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
    const found = this.#indexes.get(index);
    if (found === undefined) throw new RangeError(`unknown index ${JSON.stringify(index)}`);
    const objects: T[] = [];
    for (const key of found.keys.get(value) ?? []) {
      const object = this.#objects.get(key);
      if (object !== undefined) objects.push(object);
    }
    return objects;
  }

  /** Adds indexes over what is there and what comes. Throws RangeError for a name that is taken by another function. */
  addIndexers(indexers: Readonly<Record<string, IndexFunction<T>>>): void {
    for (const [name, of] of Object.entries(indexers)) {
      const known = this.#indexes.get(name);
      if (known !== undefined) {
        // Two parts that share an informer may both ask for the same index, each with its own copy of the function.
        if (known.of === of || String(known.of) === String(of)) continue;
        throw new RangeError(`index ${JSON.stringify(name)} exists with another function`);
      }
      const index: Index<T> = { of, keys: new Map() };
      for (const [key, object] of this.#objects) insert(index, key, of(object));
      this.#indexes.set(name, index);
    }
  }

  /** Stores the object and returns the one that it replaces. */
  set(key: ObjectKey, object: T): T | undefined {
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) {
      const values = index.of(object);
      if (old !== undefined) {
        const before = index.of(old);
        // Most changes leave most indexes alone.
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
