/** One version of one object in the cache: the served bytes are the only copy; everything else is made from them. */
import { type Omissions, outlineOf } from '#apimachinery/codec/json/outline.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { unreadableEntry } from '#storage/errors.js';
import { laidOut, splice, unsplice } from '#storage/layout.js';
import { DeflatedBytes } from '#storage/packing/packed-bytes.js';
import { ownCopy, Packing } from '#storage/packing/packing.js';
import type { Entry, EntryBytes } from '#storage/resource-storage.js';
import type { KeyValue, Revision } from '#storage/store.js';

/** Parses served bytes; what it returns is shared and never changed, and has no part of the buffer, which is used again. */
export type Decode = (json: Buffer) => object;

export const decodeJson: Decode = (json) => parseJSONText(json.toString('utf8')) as object;

/** What the entries of a cache have in common. */
export interface EntryContext {
  readonly decode: Decode;
  /** Shared by the caches of a server. */
  readonly packing: Packing;
  readonly parsed: ParsedEntries;
  /** What outlines leave out; absent: nothing. */
  readonly bulk?: Omissions | undefined;
  /** Stored bytes as they would be stored today; absent: they always are. */
  readonly upgraded?: ((stored: Buffer) => Buffer) | undefined;
}

/** For entries that share with each other alone. */
export function entryContext(decode: Decode = decodeJson): EntryContext {
  return { decode, packing: new Packing(), parsed: new ParsedEntries() };
}

/** Bytes of the entries of a cache whose objects are kept. */
const maxParsedBytes = 256 * 1024;

/**
 * The entries whose objects are at hand: the newest, as many as fit. A parsed form is several times larger than the bytes,
 * and most objects are only passed on.
 */
export class ParsedEntries {
  /** The newest last. */
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

/** Stored bytes in the layout that is read; undefined where there is none. */
function readable(stored: Buffer, { upgraded }: EntryContext): Buffer | undefined {
  const value = laidOut(stored);
  if (value === undefined || upgraded === undefined) return value;
  try {
    return upgraded(value);
  } catch {
    // What a parser says quotes the text.
    return undefined;
  }
}

const lineFeed = '\n'.charCodeAt(0);

/** A representation; most entries have one at most. */
interface Encoded {
  readonly name: string;
  readonly bytes: EntryBytes;
  readonly next: Encoded | undefined;
}

export class CacheEntry implements Entry {
  // Lists look at these of each object.
  /** Why it cannot be read; whoever needs more of it than key and revision gets a 500 that says so. */
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
  /** JSON; small, and made while the bytes are at hand in one piece. */
  readonly #outline: Buffer | undefined;

  /** The value is copied. */
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

  /** For the context. */
  forgetObject(): void {
    this.#object = undefined;
  }

  outline(): unknown {
    // The object is as good.
    return this.#object === undefined && this.#outline !== undefined ? this.#decoded(this.#outline) : this.object();
  }

  /** Throws 500 for an entry that cannot be read. */
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

  /** The same state under another version: what a deletion's event carries. */
  at(modRevision: Revision): CacheEntry {
    const { key, stored: value, stale, unreadable } = this;
    return new CacheEntry(
      { key, value, modRevision, stale, ...(unreadable !== undefined && { unreadable }) },
      this.#context,
    );
  }

  /** True when the other one is the same to the byte. */
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
      // What a parser says quotes the text, which may be a secret.
      throw unreadableEntry(this.key, 'the stored data cannot be decoded');
    }
  }
}

/** Undefined where there is none: reading the object tells why. */
function readableOutline(json: Buffer, bulk: Omissions): Buffer | undefined {
  try {
    return outlineOf(json, bulk);
  } catch {
    return undefined;
  }
}

/** Not to be changed. */
function inOnePiece(bytes: EntryBytes): Buffer {
  if (bytes instanceof Buffer) return bytes;
  if (bytes instanceof DeflatedBytes) return bytes.whole();
  const whole = Buffer.allocUnsafe(bytes.length);
  bytes.copy(whole, 0);
  return whole;
}
