/** One version of one object in the cache: the served bytes are the only copy; everything else is made from them. */

import { FieldSets } from '#storage/cache/field-sets.js';
import { unreadableEntry } from '#storage/errors.js';
import { isStoredLayout, parseParts, type StoredParts, splice, unsplice } from '#storage/layout.js';
import type { Entry } from '#storage/resource-storage.js';
import type { KeyValue, Revision } from '#storage/store.js';

/** Parses served bytes, whose parts may be known; what it returns is shared and never changed. */
export type Decode = (json: Buffer, parts?: StoredParts) => object;

/** JSON as it is; those who share the decoder share the field sets. */
export function jsonDecoder(): Decode {
  const fieldSets = new FieldSets();
  return (json, parts) =>
    parts === undefined
      ? (JSON.parse(json.toString('utf8')) as object)
      : parseParts(json, parts, (bytes) => fieldSets.of(bytes));
}

const lineFeed = '\n';

export class CacheEntry implements Entry {
  readonly key: string;
  readonly revision: Revision;
  readonly stale: boolean;
  /** Why it cannot be read; whoever needs more of it than key and revision gets a 500 that says so. */
  readonly unreadable: string | undefined;
  parts: StoredParts | undefined;
  #json: Buffer;
  readonly #decode: Decode;
  /** Weak: the parsed form is several times larger than the bytes, and most objects are only passed on. */
  #object: WeakRef<object> | undefined;
  /** The first representation that was asked for, mostly the only one; the others are in the map. */
  #encodedName: string | undefined;
  #encodedBytes: Buffer | undefined;
  #encoded: Map<string, Buffer> | undefined;
  #attributes: unknown;

  /** The value is copied; with a `line`, which is what `bytes` of an equal entry gave, it is not looked at. */
  constructor({ key, value, modRevision, stale = false, unreadable }: KeyValue, decode: Decode, line?: Buffer) {
    const readable = line !== undefined || isStoredLayout(value);
    this.key = key;
    this.revision = modRevision;
    this.stale = stale;
    this.unreadable = unreadable ?? (readable ? undefined : 'the stored data is not an object in JSON');
    this.#json = withoutLineFeed(line ?? splice(value, modRevision, lineFeed));
    this.#decode = decode;
  }

  /** All that is kept of the object, readable or not: as served, with a line feed behind it. */
  get bytes(): Buffer {
    const { buffer, byteOffset, length } = this.#json;
    return Buffer.from(buffer, byteOffset, length + lineFeed.length);
  }

  /** Gives it the same `bytes` in another place; what was handed out stays as it is. */
  rebind(bytes: Buffer): void {
    this.#json = withoutLineFeed(bytes);
  }

  get stored(): Buffer {
    return unsplice(this.#json, this.revision);
  }

  get size(): number {
    return this.#json.length;
  }

  json(): Buffer {
    this.checkReadable();
    return this.#json;
  }

  line(): Buffer {
    this.checkReadable();
    return this.bytes;
  }

  object(): unknown {
    const known = this.#object?.deref();
    if (known !== undefined) return known;
    this.checkReadable();
    const object = this.#decoded();
    this.#object = new WeakRef(object);
    return object;
  }

  /** Throws 500 for an entry that cannot be read. */
  checkReadable(): void {
    if (this.unreadable !== undefined) throw unreadableEntry(this.key, this.unreadable);
  }

  kept(name: string): Buffer | undefined {
    return this.#encodedName === name ? this.#encodedBytes : this.#encoded?.get(name);
  }

  encoded(name: string, make: (entry: Entry) => Buffer): Buffer {
    if (this.#encodedName === name) return this.#encodedBytes as Buffer;
    let bytes = this.#encoded?.get(name);
    if (bytes !== undefined) return bytes;
    bytes = make(this);
    if (this.#encodedName === undefined) {
      this.#encodedName = name;
      this.#encodedBytes = bytes;
    } else {
      this.#encoded ??= new Map();
      this.#encoded.set(name, bytes);
    }
    return bytes;
  }

  attributes<T>(make: (entry: Entry) => T): T {
    this.#attributes ??= make(this);
    return this.#attributes as T;
  }

  /** The same state under another version: what a deletion's event carries. */
  at(modRevision: Revision): CacheEntry {
    const { key, stored: value, stale, unreadable } = this;
    return new CacheEntry(
      { key, value, modRevision, stale, ...(unreadable !== undefined && { unreadable }) },
      this.#decode,
    );
  }

  #decoded(): object {
    try {
      return this.#decode(this.#json, this.parts);
    } catch {
      // What a parser says quotes the text, which may be a secret.
      throw unreadableEntry(this.key, 'the stored data cannot be decoded');
    }
  }

  /** True when the other one is the same to the byte. */
  same(other: CacheEntry): boolean {
    const equal = this.revision === other.revision && this.stale === other.stale;
    return equal && this.unreadable === other.unreadable && this.#json.equals(other.#json);
  }
}

function withoutLineFeed(line: Buffer): Buffer {
  return line.subarray(0, line.length - lineFeed.length);
}
