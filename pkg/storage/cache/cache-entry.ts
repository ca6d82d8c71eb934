/** One version of one object in the cache: the served bytes are the only copy; everything else is made from them. */
import { type Omissions, outlineOf } from '#apimachinery/codec/json/outline.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { ByteKeeper, type Compressible, type Warm } from '#storage/cache/byte-keeper.js';
import { UnkeptEntry } from '#storage/cache/unkept-entry.js';
import { unreadableEntry } from '#storage/errors.js';
import { type StoredParts, splice, spliceInto, unsplice } from '#storage/layout.js';
import { laidOut } from '#storage/relayout.js';
import type { Entry } from '#storage/resource-storage.js';
import { CompressedBytes } from '#storage/segments/compressed-bytes.js';
import { maxSharedBytes } from '#storage/segments/packed.js';
import { type Bytes, isWhole, joined, type Segmented } from '#storage/segments/segmented.js';
import { SharedBytes } from '#storage/segments/shared-bytes.js';
import type { KeyValue, Revision } from '#storage/store.js';

/** Parses served bytes; what it returns is shared and never changed, and has no part of the buffer, which is used again. */
export type Decode = (json: Buffer) => object;

export const decodeJson: Decode = (json) => parseJSONText(json.toString('utf8')) as object;

/** What the entries of a cache have in common. */
export interface EntryContext {
  readonly decode: Decode;
  /** Absent: each entry's bytes stay in one piece. */
  readonly keeper?: ByteKeeper;
  /** What outlines leave out; absent: nothing. */
  readonly bulk?: Omissions | undefined;
  /** Stored bytes as they would be stored today; absent: they always are. */
  readonly upgraded?: ((stored: Buffer) => Buffer) | undefined;
}

/** For entries that share with each other alone. */
export function entryContext(decode: Decode = decodeJson): EntryContext {
  return { decode, keeper: new ByteKeeper() };
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

const lineFeed = '\n';
const lineFeedByte = lineFeed.charCodeAt(0);

/** Where bytes are put together that are only parsed. */
const scratch = Buffer.allocUnsafeSlow(maxSharedBytes);

export class CacheEntry implements Entry, Warm, Compressible {
  // Lists look at these three of each object, which are next to each other in memory for that.
  /** Why it cannot be read; whoever needs more of it than key and revision gets a 500 that says so. */
  readonly unreadable: string | undefined;
  /** With a line feed behind it in its memory; absent only where they can be had of `#shared`. */
  #json: Buffer | undefined;
  #shared: Segmented | undefined;
  readonly revision: Revision;
  #key: string;
  readonly stale: boolean;
  readonly size: number;
  #parts: StoredParts | undefined;
  readonly #context: EntryContext;
  #isWarm: boolean;
  /** Weak: the parsed form is several times larger than the bytes, and most objects are only passed on. */
  #object: WeakRef<object> | undefined;
  /** The first representation that was asked for, mostly the only one; the others are in the map. */
  #encodedName: string | undefined;
  #encodedBytes: Bytes | undefined;
  #encoded: Map<string, Bytes> | undefined;
  #attributes: unknown;
  /** JSON; kept once it was made, since it is small. */
  #outline: Buffer | undefined;

  /**
   * One that is only kept for now, as most of what is read from the store: its bytes are never in one piece of their own
   * where they can be shared. The value is copied.
   */
  static kept(stored: KeyValue, context: EntryContext): CacheEntry {
    const { keeper } = context;
    const value = keeper === undefined || stored.unreadable !== undefined ? undefined : readable(stored.value, context);
    if (keeper === undefined || value === undefined) return new CacheEntry(stored, context);
    const kv = value === stored.value ? stored : { ...stored, value };
    const { key, modRevision } = kv;
    const json = spliceInto(scratch, value, modRevision);
    if (json !== undefined && !keeper.compresses(json.length)) return CacheEntry.#keptOnce(kv, context, json);
    const shared = json && keeper.match(key, 'json', json);
    if (shared !== undefined) return new CacheEntry(kv, context, shared);
    const entry = new CacheEntry(kv, context, splice(value, modRevision, lineFeed));
    // While the bytes are at hand: there may be many, and all are looked at soon.
    entry.#prepareOutline(entry.#whole());
    entry.#cool({ matchesNothing: json !== undefined });
    return entry;
  }

  /** The same where nothing is compressed: it is compared with others once. */
  static #keptOnce(kv: KeyValue, context: EntryContext, json: Buffer): CacheEntry {
    let line: Buffer | undefined;
    const whole = (): Buffer => {
      line ??= splice(kv.value, kv.modRevision, lineFeed);
      return line;
    };
    const shared = context.keeper?.share(kv.key, 'json', json, () => whole().subarray(0, json.length));
    const entry = new CacheEntry(kv, context, shared ?? whole());
    entry.#prepareOutline(json);
    return entry;
  }

  /** The value is copied; with `given`, which is what `kept` of an equal entry was, it is not looked at. */
  constructor({ key, value, modRevision, stale = false, unreadable }: KeyValue, context: EntryContext, given?: Bytes) {
    const layout = given === undefined && unreadable === undefined ? readable(value, context) : value;
    this.#key = key;
    this.revision = modRevision;
    this.stale = stale;
    this.unreadable = unreadable ?? (layout !== undefined ? undefined : 'the stored data is not an object in JSON');
    const line = given ?? splice(layout ?? value, modRevision, lineFeed);
    this.#context = context;
    this.#isWarm = given === undefined;
    if (isWhole(line)) {
      this.size = line.length - lineFeed.length;
      this.#json = line.subarray(0, this.size);
    } else {
      this.size = line.length;
      this.#shared = line;
    }
    if (this.#isWarm) context.keeper?.warmed(this);
  }

  get key(): string {
    return this.#key;
  }

  get parts(): StoredParts | undefined {
    return this.#parts;
  }

  set parts(parts: StoredParts | undefined) {
    this.#parts = parts && (this.#context.keeper?.parts.of(parts) ?? parts);
  }

  /** Takes an equal key for its own, so that one string is kept instead of two. */
  shareKey(key: string): void {
    this.#key = key;
  }

  /** All that is kept of the object, readable or not: as served, with a line feed behind it. */
  get bytes(): Buffer {
    if (this.#json === undefined) return this.#line();
    const { buffer, byteOffset, length } = this.#json;
    return Buffer.from(buffer, byteOffset, length + lineFeed.length);
  }

  /** What is kept for good: in one piece, with the line feed behind it, or in several and without it. */
  get kept(): Bytes {
    return this.#shared ?? this.bytes;
  }

  /** What it has in common with others of the same keeper; undefined when that is little. */
  sharing(): SharedBytes | undefined {
    if (this.unreadable !== undefined) return undefined;
    if (this.#shared instanceof SharedBytes) return this.#shared;
    return this.#context.keeper?.share(this.key, 'json', this.#whole());
  }

  /** Gives it an equal `kept` in another place; what was handed out stays as it is. */
  rebind(kept: Bytes): void {
    if (isWhole(kept)) {
      this.#json = kept.subarray(0, this.size);
      this.#shared = undefined;
    } else {
      this.#shared = kept;
      if (!this.#isWarm) this.#json = undefined;
    }
  }

  /** True when that is an equal `kept`. */
  keptIs(kept: Bytes): boolean {
    if (isWhole(kept))
      return kept.length === this.size + lineFeed.length && this.#passing().equals(kept.subarray(0, -1));
    return kept.length === this.size && this.#passing().equals(joined(kept));
  }

  get stored(): Buffer {
    return unsplice(this.#whole(), this.revision);
  }

  json(): Buffer {
    this.checkReadable();
    return this.#whole();
  }

  jsonBytes(): Bytes {
    this.checkReadable();
    return this.#json ?? (this.#shared as Segmented);
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

  outline(): unknown {
    const { bulk, decode } = this.#context;
    // As good, and at hand.
    const known = this.#object?.deref();
    if (known !== undefined || bulk === undefined) return known ?? this.#decoded();
    this.checkReadable();
    try {
      this.#outline ??= outlineOf(this.#passing(), bulk);
      return decode(this.#outline);
    } catch {
      throw unreadableEntry(this.key, 'the stored data cannot be decoded');
    }
  }

  /** The outline, if it is at hand, for another thread that has the same entry. */
  get knownOutline(): Buffer | undefined {
    return this.#outline;
  }

  /** What `knownOutline` of an equal entry is. */
  tellOutline(outline: Buffer): void {
    this.#outline = outline;
  }

  #prepareOutline(json: Buffer): void {
    const { bulk } = this.#context;
    if (bulk === undefined || this.unreadable !== undefined) return;
    try {
      this.#outline = outlineOf(json, bulk);
    } catch {
      // Whoever asks for it will be told.
    }
  }

  /** Throws 500 for an entry that cannot be read. */
  checkReadable(): void {
    if (this.unreadable !== undefined) throw unreadableEntry(this.key, this.unreadable);
  }

  keeps(name: string): boolean {
    return this.#kept(name) !== undefined;
  }

  encoded(name: string, make: (entry: Entry) => Buffer): Buffer {
    const bytes = this.#kept(name);
    return bytes === undefined ? this.#encode(name, make) : joined(bytes);
  }

  encodedBytes(name: string, make: (entry: Entry) => Buffer): Bytes {
    return this.#kept(name) ?? this.#encode(name, make);
  }

  attributes<T>(make: (entry: Entry) => T): T {
    this.#attributes ??= make(this.#forOnce());
    return this.#attributes as T;
  }

  once<T>(use: (entry: Entry) => T): T {
    return use(this.#forOnce());
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
    return equal && this.unreadable === other.unreadable && this.#passing().equals(other.#whole());
  }

  /** For the keeper: shares with others what they have in common. */
  cool(): void {
    this.#cool({ matchesNothing: false });
  }

  #cool(known: { readonly matchesNothing: boolean }): void {
    this.#isWarm = false;
    if (this.#shared === undefined && this.unreadable === undefined) this.#shared = this.#spared(known);
    if (this.#shared !== undefined) this.#json = undefined;
    if (this.#encodedName === undefined) return;
    this.#encodedBytes = this.#cooled(this.#encodedName, this.#encodedBytes as Bytes);
    for (const [name, bytes] of this.#encoded ?? []) this.#encoded?.set(name, this.#cooled(name, bytes));
  }

  /** In less memory, if there is a way; one that takes time comes later. */
  #spared({ matchesNothing }: { readonly matchesNothing: boolean }): Segmented | undefined {
    const { keeper } = this.#context;
    if (keeper === undefined) return undefined;
    const whole = this.#whole();
    if (!keeper.compresses(this.size)) return keeper.share(this.key, 'json', whole);
    const matched = matchesNothing ? undefined : keeper.match(this.key, 'json', whole);
    // Where most of it is its own anyway, that is better compressed, and nobody else is like it.
    if (matched === undefined) keeper.compress(this);
    return matched;
  }

  uncompressed(): Buffer | undefined {
    return this.#shared === undefined ? this.#json : undefined;
  }

  compressed(bytes: CompressedBytes | undefined): void {
    if (this.#shared !== undefined || this.#json === undefined) return;
    this.#shared = bytes ?? this.#context.keeper?.share(this.key, 'json', this.#json);
    if (this.#shared !== undefined && !this.#isWarm) this.#json = undefined;
  }

  #cooled(name: string, bytes: Bytes): Bytes {
    return isWhole(bytes) ? (this.#context.keeper?.share(this.key, name, bytes) ?? bytes) : bytes;
  }

  /** Itself where its object is at hand or will soon be asked for again, otherwise one that does not keep it. */
  #forOnce(): Entry {
    return this.#isWarm || this.#object?.deref() !== undefined ? this : new UnkeptEntry(this, () => this.#decoded());
  }

  #kept(name: string): Bytes | undefined {
    return this.#encodedName === name ? this.#encodedBytes : this.#encoded?.get(name);
  }

  #encode(name: string, make: (entry: Entry) => Buffer): Buffer {
    const made = make(this.#forOnce());
    // Whoever asks for what was not asked for lately, as lists do, asks for many.
    const bytes = this.#isWarm ? made : this.#cooled(name, made);
    if (this.#encodedName === undefined) {
      this.#encodedName = name;
      this.#encodedBytes = bytes;
    } else {
      this.#encoded ??= new Map();
      this.#encoded.set(name, bytes);
    }
    return made;
  }

  /** The bytes in one piece, which is kept for a while. */
  #whole(): Buffer {
    if (this.#json === undefined) this.#line();
    return this.#json as Buffer;
  }

  /** The same with the line feed behind it, put together anew. */
  #line(): Buffer {
    const line = Buffer.allocUnsafe(this.size + lineFeed.length);
    this.#shared?.copyTo(line, 0);
    line[this.size] = lineFeedByte;
    this.#json = line.subarray(0, this.size);
    this.#isWarm = true;
    this.#context.keeper?.warmed(this);
    return line;
  }

  /** The bytes in one piece until somebody else calls this. */
  #passing(): Buffer {
    if (this.#json !== undefined) return this.#json;
    if (this.#shared instanceof CompressedBytes) return this.#shared.whole();
    this.#shared?.copyTo(scratch, 0);
    return scratch.subarray(0, this.size);
  }

  #decoded(): object {
    try {
      return this.#context.decode(this.#passing());
    } catch {
      // What a parser says quotes the text, which may be a secret.
      throw unreadableEntry(this.key, 'the stored data cannot be decoded');
    }
  }
}
