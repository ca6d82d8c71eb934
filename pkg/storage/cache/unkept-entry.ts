/**
 * An entry for whoever makes something of its object and has no more use for it: the object is not kept. What a weak
 * reference points to lives until all of the heap is collected, since collections of young garbage take such references for
 * strong ones, so that whoever looks at all objects once would otherwise have all of them in memory.
 */

import type { StoredParts } from '#storage/layout.js';
import type { Entry } from '#storage/resource-storage.js';
import type { Bytes } from '#storage/segments/segmented.js';
import type { Revision } from '#storage/store.js';

export class UnkeptEntry implements Entry {
  readonly #entry: Entry;
  readonly #decode: () => object;
  #object: object | undefined;

  constructor(entry: Entry, decode: () => object) {
    this.#entry = entry;
    this.#decode = decode;
  }

  get key(): string {
    return this.#entry.key;
  }

  get revision(): Revision {
    return this.#entry.revision;
  }

  get stored(): Buffer {
    return this.#entry.stored;
  }

  get size(): number {
    return this.#entry.size;
  }

  get stale(): boolean {
    return this.#entry.stale === true;
  }

  get parts(): StoredParts | undefined {
    return this.#entry.parts;
  }

  json(): Buffer {
    return this.#entry.json();
  }

  jsonBytes(): Bytes {
    return this.#entry.jsonBytes();
  }

  line(): Buffer {
    return this.#entry.line();
  }

  object(): unknown {
    this.#object ??= this.#decode();
    return this.#object;
  }

  outline(): unknown {
    return this.#entry.outline();
  }

  encoded(name: string, make: (entry: Entry) => Buffer): Buffer {
    return this.#entry.encoded(name, () => make(this));
  }

  encodedBytes(name: string, make: (entry: Entry) => Buffer): Bytes {
    return this.#entry.encodedBytes(name, () => make(this));
  }

  keeps(name: string): boolean {
    return this.#entry.keeps(name);
  }

  attributes<T>(make: (entry: Entry) => T): T {
    return this.#entry.attributes(() => make(this));
  }

  once<T>(use: (entry: Entry) => T): T {
    return use(this);
  }
}
