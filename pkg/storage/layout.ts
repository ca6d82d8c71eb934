/**
 * The stored form of an object and the one served: JSON whose `metadata` comes right behind `kind` and `apiVersion`, so
 * that the first `"metadata":{` is the object's own. The resource version, which is the key's mod revision and therefore
 * not stored, is spliced in behind it without parsing.
 *
 * Stored: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0",…`
 * Served: `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"17","name":"web-0",…`
 */
import { toJSONText } from '#apimachinery/json-text.js';
import { maxSharedBytes } from '#storage/segments/packed.js';
import { type Bytes, isWhole, joined } from '#storage/segments/segmented.js';
import type { Revision } from '#storage/store.js';

/** Where the large values of a stored object are in its bytes. */
export interface StoredParts {
  /** Start and end of each, in the order of `largeValues`: first the managers' field sets. */
  readonly ranges: readonly number[];
  /** Of all bytes. */
  readonly length: number;
}

/** An object as the API knows it; only its outermost shape matters here. */
export interface StorableObject {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata?: { readonly [field: string]: unknown };
}

const metadataStart = Buffer.from('"metadata":{');
const headMembers = [Buffer.from('"kind":"'), Buffer.from('"apiVersion":"')] as const;
const quotationMark = '"'.charCodeAt(0);
const comma = ','.charCodeAt(0);
/** In so many bytes the start of metadata is found by a plain loop, as long as apiVersion and kind are no longer than usual. */
const headBytes = 256;
/** Where a version's bytes are put together that are only copied from. */
const scratch = Buffer.allocUnsafeSlow(maxSharedBytes);
const openingBrace = '{'.charCodeAt(0);
const closingBrace = '}'.charCodeAt(0);
const lineFeed = '\n'.charCodeAt(0);

/** An object's bytes, laid out for `splice` and without metadata.resourceVersion. */
export interface StoredForm {
  readonly bytes: Buffer;
  readonly parts: StoredParts;
}

/** A version whose bytes may be used again: for whatever another version shares with `object`, which is made of them. */
export interface StoredVersion {
  readonly object: StorableObject;
  /** As served. */
  readonly json: Bytes;
  readonly parts: StoredParts;
}

/** The bytes to store. */
export function encodeStored(object: StorableObject): Buffer {
  return storedForm(object).bytes;
}

/** What the text of an object says more than the object in memory. */
export interface TextForm {
  /** The object with what its own level has more. */
  ownOf<T extends object>(object: T): T;
  /** The value of that member, likewise, with all that is in it. */
  inside(member: string, value: object): object;
}

export interface StoredFormOptions {
  readonly before?: StoredVersion | undefined;
  /** Absent: the text says what is in memory. */
  readonly text?: TextForm;
}

const asInMemory: TextForm = { ownOf: (object) => object, inside: (_member, value) => value };

/** The bytes to store, partly those of `before`: most writes leave most of an object as it is. */
export function storedForm(given: StorableObject, options: StoredFormOptions = {}): StoredForm {
  const { before, text = asInMemory } = options;
  const object = text.ownOf(given);
  const writer = new StoredWriter(before);
  let separator = '{';
  for (const key of ['kind', 'apiVersion'] as const) {
    const value = object[key];
    if (value === undefined) continue;
    writer.text(`${separator}"${key}":${toJSONText(value)}`);
    separator = ',';
  }
  writer.text(`${separator}"metadata":`);
  writeMetadata(writer, text.inside('metadata', object.metadata ?? {}) as Metadata);
  for (const key of Object.keys(object)) {
    if (isHead(key)) continue;
    const value = (object as Readonly<Record<string, unknown>>)[key];
    if (value === undefined) continue;
    writer.text(`,${JSON.stringify(key)}:`);
    if (isLarge(value)) writer.value(value, (same) => text.inside(key, same));
    else writer.text(toJSONText(value));
  }
  writer.text('}');
  return writer.finish();
}

type Metadata = NonNullable<StorableObject['metadata']>;

/** Managed fields come last, as in 1.24. */
function writeMetadata(writer: StoredWriter, metadata: Metadata): void {
  const { resourceVersion: _, managedFields, ...kept } = metadata;
  const text = toJSONText(kept);
  if (!Array.isArray(managedFields)) {
    writer.text(managedFields === undefined ? text : toJSONText({ ...kept, managedFields }));
    return;
  }
  writer.text(`${text.slice(0, -1)}${text.length > 2 ? ',' : ''}"managedFields":`);
  let separator = '[';
  for (const entry of managedFields as readonly unknown[]) {
    writer.text(separator);
    writeEntry(writer, entry);
    separator = ',';
  }
  writer.text(separator === '[' ? '[]}' : ']}');
}

function writeEntry(writer: StoredWriter, entry: unknown): void {
  const fields = fieldsOf(entry);
  if (fields === undefined) {
    writer.text(toJSONText(entry));
    return;
  }
  let separator = '{';
  for (const key of Object.keys(entry as object)) {
    const value = (entry as Readonly<Record<string, unknown>>)[key];
    if (value === undefined) continue;
    writer.text(`${separator}${JSON.stringify(key)}:`);
    if (value === fields) writer.value(fields);
    else writer.text(toJSONText(value));
    separator = ',';
  }
  writer.text('}');
}

/** The values worth finding again: the field sets of the managers, and the members of the object besides its metadata. */
function largeValues(object: StorableObject): object[] {
  const values: object[] = [];
  const entries = object.metadata?.managedFields;
  for (const entry of Array.isArray(entries) ? (entries as readonly unknown[]) : []) {
    const fields = fieldsOf(entry);
    if (fields !== undefined) values.push(fields);
  }
  for (const key of Object.keys(object)) {
    const value = (object as Readonly<Record<string, unknown>>)[key];
    if (!isHead(key) && isLarge(value)) values.push(value);
  }
  return values;
}

/** The bytes of a large value in an object as served: the version, which is not stored, comes before all of them. */
function rangeOf(json: Buffer, { ranges, length }: StoredParts, index: number): Buffer {
  const shift = json.length - length;
  return json.subarray((ranges[2 * index] ?? 0) + shift, (ranges[2 * index + 1] ?? 0) + shift);
}

function isHead(key: string): boolean {
  return key === 'kind' || key === 'apiVersion' || key === 'metadata';
}

function isLarge(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function fieldsOf(entry: unknown): object | undefined {
  if (!isLarge(entry)) return undefined;
  const { fieldsV1 } = entry as { fieldsV1?: unknown };
  return isLarge(fieldsV1) ? fieldsV1 : undefined;
}

/** Those of a version in one piece, until this is called again. */
function passing(json: Bytes): Buffer {
  if (isWhole(json)) return json;
  if (json.length > scratch.length) return joined(json);
  json.copyTo(scratch, 0);
  return scratch.subarray(0, json.length);
}

/** Puts stored bytes together out of new text and bytes that are there already. To be finished in the same turn. */
class StoredWriter {
  readonly #before: { readonly json: Buffer; readonly parts: StoredParts } | undefined;
  /** Those of `before`, in the order of its parts. */
  readonly #known: readonly object[];
  readonly #ranges: number[] = [];
  readonly #chunks: (string | Buffer)[] = [];
  #text = '';
  #size = 0;

  constructor(before: StoredVersion | undefined) {
    this.#before = before && { json: passing(before.json), parts: before.parts };
    this.#known = before === undefined ? [] : largeValues(before.object);
  }

  text(text: string): void {
    this.#text += text;
  }

  /** A large value: where it is will be known. `textOf`: what its text says. */
  value(value: object, textOf = (same: object) => same): void {
    this.#flush();
    this.#ranges.push(this.#size);
    const known = this.#bytesOf(value);
    if (known === undefined) this.#append(toJSONText(textOf(value)));
    else this.#appendBytes(known);
    this.#ranges.push(this.#size);
  }

  #appendBytes(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#size += bytes.length;
  }

  finish(): StoredForm {
    this.#flush();
    const bytes = Buffer.allocUnsafe(this.#size);
    let at = 0;
    for (const chunk of this.#chunks) {
      at += typeof chunk === 'string' ? bytes.write(chunk, at) : chunk.copy(bytes, at);
    }
    return { bytes, parts: { ranges: this.#ranges, length: this.#size } };
  }

  #flush(): void {
    if (this.#text !== '') this.#append(this.#text);
    this.#text = '';
  }

  #append(text: string): void {
    this.#chunks.push(text);
    this.#size += Buffer.byteLength(text);
  }

  #bytesOf(value: object): Buffer | undefined {
    const index = this.#known.indexOf(value);
    if (index < 0 || this.#before === undefined) return undefined;
    const { json, parts } = this.#before;
    return rangeOf(json, parts, index);
  }
}

/** True for what can be an object as this program and 1.24 store it in JSON; does not parse. */
export function isStoredLayout(bytes: Buffer): boolean {
  if (bytes[0] !== openingBrace || !startsWithHead(bytes)) return false;
  // 1.24 ends the JSON of its objects with a line feed.
  const last = bytes[bytes.length - 1] === lineFeed ? bytes.length - 2 : bytes.length - 1;
  return bytes[last] === closingBrace;
}

/** Whether nothing but `kind` and `apiVersion` is before the metadata: others may have a part of that name in them. */
function startsWithHead(bytes: Buffer): boolean {
  let at = 1;
  for (let i = 0; i < headMembers.length && !isMetadataStart(bytes, at); i++) {
    const member = headMembers.find((start) => isAt(bytes, at, start));
    if (member === undefined) return false;
    // Names of kinds and versions have no quotes in them.
    const end = bytes.indexOf(quotationMark, at + member.length);
    if (end < 0 || bytes[end + 1] !== comma) return false;
    at = end + 2;
  }
  return isMetadataStart(bytes, at);
}

/** Where `{` of the object's metadata ends; -1 when the bytes are not in the stored layout. */
function spliceOffset(bytes: Buffer): number {
  const end = Math.min(bytes.length - metadataStart.length, headBytes);
  for (let at = 1; at <= end; at++) if (isMetadataStart(bytes, at)) return at + metadataStart.length;
  const at = bytes.indexOf(metadataStart);
  return at < 0 ? -1 : at + metadataStart.length;
}

function isMetadataStart(bytes: Buffer, from: number): boolean {
  return isAt(bytes, from, metadataStart);
}

function isAt(bytes: Buffer, from: number, part: Buffer): boolean {
  for (let i = 0; i < part.length; i++) if (bytes[from + i] !== part[i]) return false;
  return true;
}

/**
 * The bytes to serve, in memory of their own (a buffer from the network may be part of a much larger one), with `behind`,
 * an ASCII text, at their end. Bytes that are not in the stored layout come back as they are.
 */
export function splice(stored: Buffer, revision: Revision, behind = ''): Buffer {
  const { cut, text } = spliced(stored, revision);
  // Not from Node's shared pool: one long-lived object would keep a whole slab of it alive.
  const served = Buffer.allocUnsafeSlow(stored.length + text.length + behind.length);
  write(served, stored, cut, text);
  served.write(behind, stored.length + text.length, 'latin1');
  return served;
}

/** The same in the memory given, as far as there is room for it there. */
export function spliceInto(memory: Buffer, stored: Buffer, revision: Revision): Buffer | undefined {
  const { cut, text } = spliced(stored, revision);
  const length = stored.length + text.length;
  if (length > memory.length) return undefined;
  write(memory, stored, cut, text);
  return memory.subarray(0, length);
}

function spliced(stored: Buffer, revision: Revision): { readonly cut: number; readonly text: string } {
  const at = spliceOffset(stored);
  if (at < 0) return { cut: 0, text: '' };
  return { cut: at, text: `"resourceVersion":"${revision}"${stored[at] === closingBrace ? '' : ','}` };
}

function write(served: Buffer, stored: Buffer, cut: number, text: string): void {
  stored.copy(served, 0, 0, cut);
  served.write(text, cut, 'latin1');
  stored.copy(served, cut + text.length, cut);
}

/** The stored bytes again, out of served ones of that revision. */
export function unsplice(served: Buffer, revision: Revision): Buffer {
  const at = spliceOffset(served);
  if (at < 0) return served;
  const start = at + `"resourceVersion":"${revision}"`.length;
  return Buffer.concat([served.subarray(0, at), served.subarray(served[start] === closingBrace ? start : start + 1)]);
}
