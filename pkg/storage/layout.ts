/**
 * The stored form of an object and the one served: JSON whose `metadata` comes right behind `kind` and `apiVersion`, so
 * that the first `"metadata":{` is the object's own. The resource version, which is the key's mod revision and therefore
 * not stored, is spliced in behind it without parsing.
 *
 * Stored: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0",…`
 * Served: `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"17","name":"web-0",…`
 */
import { toJSONText } from '#apimachinery/json-text.js';
import type { Revision } from '#storage/store.js';

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
const openingBrace = '{'.charCodeAt(0);
const closingBrace = '}'.charCodeAt(0);
const lineFeed = '\n'.charCodeAt(0);

/** What the text of an object says more than the object in memory. */
export interface TextForm {
  /** The object with what its own level has more. */
  ownOf<T extends object>(object: T): T;
  /** The value of that member, likewise, with all that is in it. */
  inside(member: string, value: object): object;
}

const asInMemory: TextForm = { ownOf: (object) => object, inside: (_member, value) => value };

/** The bytes to store: laid out for `splice`, and without metadata.resourceVersion. Managed fields come last, as in 1.24. */
export function encodeStored(object: StorableObject, text: TextForm = asInMemory): Buffer {
  const { kind, apiVersion, metadata = {}, ...others } = text.ownOf(object) as StorableObject & Record<string, unknown>;
  const { resourceVersion: _, managedFields, ...own } = text.inside('metadata', metadata) as Metadata;
  const head = toJSONText({ kind, apiVersion, metadata: { ...own, managedFields } });
  for (const key of Object.keys(others)) {
    const value = others[key];
    if (typeof value === 'object' && value !== null) others[key] = text.inside(key, value);
  }
  const rest = toJSONText(others);
  return Buffer.from(rest === '{}' ? head : `${head.slice(0, -1)},${rest.slice(1)}`);
}

type Metadata = NonNullable<StorableObject['metadata']>;

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
 * The bytes to serve: in the memory given if there is room for them, which saves its taking and freeing, and otherwise in
 * memory of their own. Bytes that are not in the stored layout come back as they are.
 */
export function splice(stored: Buffer, revision: Revision, memory?: Buffer): Buffer {
  const cut = spliceOffset(stored);
  if (cut < 0) return stored;
  const text = `"resourceVersion":"${revision}"${stored[cut] === closingBrace ? '' : ','}`;
  const length = stored.length + text.length;
  const served =
    memory !== undefined && length <= memory.length ? memory.subarray(0, length) : Buffer.allocUnsafe(length);
  stored.copy(served, 0, 0, cut);
  served.write(text, cut, 'latin1');
  stored.copy(served, cut + text.length, cut);
  return served;
}

/** The stored bytes again, out of served ones of that revision. */
export function unsplice(served: Buffer, revision: Revision): Buffer {
  const at = spliceOffset(served);
  if (at < 0) return served;
  const start = at + `"resourceVersion":"${revision}"`.length;
  return Buffer.concat([served.subarray(0, at), served.subarray(served[start] === closingBrace ? start : start + 1)]);
}
