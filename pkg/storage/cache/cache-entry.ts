/** One version of an object in the cache. Only the served bytes are stored; all other forms are derived from them. */
import { type Omissions, withoutMembers } from '#apimachinery/codec/json/omit-members.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { unreadableEntry } from '#storage/errors.js';
import { laidOut, splice, unsplice } from '#storage/layout.js';
import { DeflatedBytes } from '#storage/packing/packed-bytes.js';
import { ownCopy, Packing } from '#storage/packing/packing.js';
import type { Entry, EntryBytes } from '#storage/resource-storage.js';
import type { KeyValue, Revision } from '#storage/store.js';

/** Parses served bytes. The result is shared, read-only, and has no references to the buffer, which is reused. */
export type Decode = (json: Buffer) => object;

export const decodeJson: Decode = (json) => parseJSONText(json.toString('utf8')) as object;

/** Common parts of a cache's entries. */
export interface EntryContext {
  readonly decode: Decode;
  /** Shared by the caches of a server. */
  readonly packing: Packing;
  readonly parsed: ParsedEntries;
  /** Members omitted in outlines; absent: none. */
  readonly bulk?: Omissions | undefined;
  /** Converts stored bytes to the current stored form; absent: they always have it. */
  readonly upgraded?: ((stored: Buffer) => Buffer) | undefined;
}

/** A context that shares nothing with other caches. */
export function entryContext(decode: Decode = decodeJson): EntryContext {
  return { decode, packing: new Packing(), parsed: new ParsedEntries() };
}

/** Limit of the bytes of entries with cached objects. */
const maxParsedBytes = 256 * 1024;

/**
 * The most recently used entries with parsed objects, as many as fit. A parsed object is several times larger than its
 * bytes, and most objects are only forwarded.
 */
export class ParsedEntries {
  /** Entries in order of use. */
  readonly #entries = new Set<CacheEntry>();
  #bytes = 0;

  add(entry: CacheEntry): void {
    this.#entries.add(entry);
    this.#bytes += entry.size;
    for (const oldest of this.#entries) {
      if (this.#bytes <= maxParsedBytes || oldest === entry) break;
      this.#entries.delete(oldest);
      this.#bytes -= oldest.size;
      oldest.forgetObject();
    }
  }
}

/** Stored bytes in the supported layout; undefined for other data. */
function readable(stored: Buffer, { upgraded }: EntryContext): Buffer | undefined {
  const value = laidOut(stored);
  if (value === undefined || upgraded === undefined) return value;
  try {
    return upgraded(value);
  } catch {
    // The parser's error may contain secret text.
    return undefined;
  }
}

const lineFeed = '\n'.charCodeAt(0);

/** Encodings of an entry; usually there is at most one. */
interface Encoded {
  readonly name: string;
  readonly bytes: EntryBytes;
  readonly next: Encoded | undefined;
}

export class CacheEntry implements Entry {
  // Lists read the following fields of each object, so they come first.
  /** Why the entry is unreadable; everything except key and revision then throws a 500 error with this text. */
  readonly unreadable: string | undefined;
  readonly #bytes: EntryBytes;
  readonly revision: Revision;
  readonly key: string;
  readonly stale: boolean;
  canonical = false;
  readonly #context: EntryContext;
  #object: object | undefined;
  #encoded: Encoded | undefined;
  #attributes: unknown;
  /** Outline as JSON; small, and created while the bytes are in one buffer. */
  readonly #outline: Buffer | undefined;

  /** Copies the bytes of the value. */
  constructor({ key, value, modRevision, stale = false, unreadable }: KeyValue, context: EntryContext) {
    const { packing, bulk } = context;
    const layout = unreadable === undefined ? readable(value, context) : undefined;
    this.key = key;
    this.revision = modRevision;
    this.stale = stale;
    this.unreadable = unreadable ?? (layout !== undefined ? undefined : 'the stored data is not an object in JSON');
    this.#context = context;
    if (layout === undefined) {
      this.#bytes = ownCopy(value);
      return;
    }
    const json = splice(layout, modRevision, packing.memory);
    this.#outline = bulk && readableOutline(json, bulk);
    this.#bytes = packing.pack(key, 'json', json);
  }

  get size(): number {
    return this.#bytes.length;
  }

  get stored(): Buffer {
    const bytes = inOnePiece(this.#bytes);
    return this.unreadable === undefined ? unsplice(bytes, this.revision) : bytes;
  }

  json(): Buffer {
    return inOnePiece(this.jsonBytes());
  }

  jsonBytes(): EntryBytes {
    this.checkReadable();
    return this.#bytes;
  }

  line(): Buffer {
    const json = this.jsonBytes();
    const line = Buffer.allocUnsafe(json.length + 1);
    json.copy(line, 0);
    line[json.length] = lineFeed;
    return line;
  }

  object(): unknown {
    if (this.#object === undefined) {
      this.#object = this.#decoded(this.json());
      this.#context.parsed.add(this);
    }
    return this.#object;
  }

  /** Drops the parsed object; for the context only. */
  forgetObject(): void {
    this.#object = undefined;
  }

  outline(): unknown {
    // The parsed object also serves as outline.
    return this.#object === undefined && this.#outline !== undefined ? this.#decoded(this.#outline) : this.object();
  }

  /** Throws a 500 error for an unreadable entry. */
  checkReadable(): void {
    if (this.unreadable !== undefined) throw unreadableEntry(this.key, this.unreadable);
  }

  keeps(name: string): boolean {
    return this.#kept(name) !== undefined;
  }

  encoded(name: string, make: (entry: Entry) => Buffer): Buffer {
    return inOnePiece(this.encodedBytes(name, make));
  }

  encodedBytes(name: string, make: (entry: Entry) => Buffer): EntryBytes {
    const kept = this.#kept(name);
    if (kept !== undefined) return kept;
    const bytes = this.#context.packing.pack(this.key, name, make(this));
    this.#encoded = { name, bytes, next: this.#encoded };
    return bytes;
  }

  attributes<T>(make: (entry: Entry) => T): T {
    this.#attributes ??= make(this);
    return this.#attributes as T;
  }

  /** The same state with another revision, for the event of a deletion. */
  at(modRevision: Revision): CacheEntry {
    const { key, stored: value, stale, unreadable } = this;
    return new CacheEntry(
      { key, value, modRevision, stale, ...(unreadable !== undefined && { unreadable }) },
      this.#context,
    );
  }

  /** True if all bytes are equal. */
  same(other: CacheEntry): boolean {
    const equal = this.revision === other.revision && this.stale === other.stale && this.size === other.size;
    return equal && this.unreadable === other.unreadable && inOnePiece(this.#bytes).equals(inOnePiece(other.#bytes));
  }

  #kept(name: string): EntryBytes | undefined {
    let kept = this.#encoded;
    while (kept !== undefined && kept.name !== name) kept = kept.next;
    return kept?.bytes;
  }

  #decoded(json: Buffer): object {
    try {
      return this.#context.decode(json);
    } catch {
      // The parser's error may contain secret text.
      throw unreadableEntry(this.key, 'the stored data cannot be decoded');
    }
  }
}

/** The outline as JSON; undefined for unreadable JSON: reading the object reports the reason. */
function readableOutline(json: Buffer, bulk: Omissions): Buffer | undefined {
  try {
    return withoutMembers(json, bulk);
  } catch {
    return undefined;
  }
}

/** The bytes as one buffer, which must not be modified. */
function inOnePiece(bytes: EntryBytes): Buffer {
  if (bytes instanceof Buffer) return bytes;
  if (bytes instanceof DeflatedBytes) return bytes.whole();
  const whole = Buffer.allocUnsafe(bytes.length);
  bytes.copy(whole, 0);
  return whole;
}
