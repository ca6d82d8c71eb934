/** One version of one object in the cache: the served bytes are the only copy; everything else is made from them. */

import { splice, unsplice } from '#storage/layout.js';
import type { Entry } from '#storage/resource-storage.js';
import type { Revision } from '#storage/store.js';

/** Parses served bytes; what it returns is shared and never changed. */
export type Decode = (json: Buffer) => object;

/** JSON as it is. */
export const decodeJson: Decode = (json) => JSON.parse(json.toString('utf8')) as object;

export class CacheEntry implements Entry {
  readonly key: string;
  readonly revision: Revision;
  readonly #json: Buffer;
  readonly #decode: Decode;
  /** Weak: the parsed form is several times larger than the bytes, and most objects are only passed on. */
  #object: WeakRef<object> | undefined;
  #encoded: Map<string, Buffer> | undefined;
  #attributes: unknown;

  /** `stored` is copied. */
  constructor(key: string, stored: Buffer, revision: Revision, decode: Decode) {
    this.key = key;
    this.revision = revision;
    this.#json = splice(stored, revision);
    this.#decode = decode;
  }

  get stored(): Buffer {
    return unsplice(this.#json, this.revision);
  }

  json(): Buffer {
    return this.#json;
  }

  object(): unknown {
    const known = this.#object?.deref();
    if (known !== undefined) return known;
    const object = this.#decode(this.#json);
    this.#object = new WeakRef(object);
    return object;
  }

  encoded(name: string, make: (entry: Entry) => Buffer): Buffer {
    this.#encoded ??= new Map();
    let bytes = this.#encoded.get(name);
    if (bytes === undefined) {
      bytes = make(this);
      this.#encoded.set(name, bytes);
    }
    return bytes;
  }

  attributes<T>(make: (entry: Entry) => T): T {
    this.#attributes ??= make(this);
    return this.#attributes as T;
  }

  /** The same state under another version: what a deletion's event carries. */
  at(revision: Revision): CacheEntry {
    return new CacheEntry(this.key, this.stored, revision, this.#decode);
  }
}
