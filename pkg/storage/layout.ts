/**
 * The stored form of an object and the one served: JSON whose `metadata` comes right behind `kind` and `apiVersion`, so
 * that the first `"metadata":{` is the object's own. The resource version, which is the key's mod revision and therefore
 * not stored, is spliced in behind it without parsing.
 *
 * Stored: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0",…`
 * Served: `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"17","name":"web-0",…`
 */
import type { Revision } from '#storage/store.js';

/** An object as the API knows it; only its outermost shape matters here. */
export interface StorableObject {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata?: { readonly [field: string]: unknown };
}

const metadataStart = Buffer.from('"metadata":{');
const openingBrace = '{'.charCodeAt(0);
const closingBrace = '}'.charCodeAt(0);
const lineFeed = '\n'.charCodeAt(0);

/** The bytes to store: laid out for `splice`, without metadata.resourceVersion. */
export function encodeStored(object: StorableObject): Buffer {
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _, ...kept } = metadata ?? {};
  return Buffer.from(JSON.stringify({ kind, apiVersion, metadata: kept, ...rest }));
}

/** True for what can be an object as this program and 1.24 store it in JSON; does not parse. */
export function isStoredLayout(bytes: Buffer): boolean {
  if (bytes[0] !== openingBrace || spliceOffset(bytes) < 0) return false;
  // 1.24 ends the JSON of its objects with a line feed.
  const last = bytes[bytes.length - 1] === lineFeed ? bytes.length - 2 : bytes.length - 1;
  return bytes[last] === closingBrace;
}

/** Where `{` of the object's metadata ends; -1 when the bytes are not in the stored layout. */
export function spliceOffset(bytes: Buffer): number {
  const at = bytes.indexOf(metadataStart);
  return at < 0 ? -1 : at + metadataStart.length;
}

/**
 * The bytes to serve, in memory of their own (a buffer from the network may be part of a much larger one), with `behind`,
 * an ASCII text, at their end. Bytes that are not in the stored layout come back as they are.
 */
export function splice(stored: Buffer, revision: Revision, behind = ''): Buffer {
  const at = spliceOffset(stored);
  const text = at < 0 ? '' : `"resourceVersion":"${revision}"${stored[at] === closingBrace ? '' : ','}`;
  const cut = Math.max(at, 0);
  // Not from Node's shared pool: one long-lived object would keep a whole slab of it alive.
  const served = Buffer.allocUnsafeSlow(stored.length + text.length + behind.length);
  stored.copy(served, 0, 0, cut);
  served.write(text, cut, 'latin1');
  stored.copy(served, cut + text.length, cut);
  served.write(behind, stored.length + text.length, 'latin1');
  return served;
}

/** The stored bytes again, out of served ones of that revision. */
export function unsplice(served: Buffer, revision: Revision): Buffer {
  const at = spliceOffset(served);
  if (at < 0) return served;
  const start = at + `"resourceVersion":"${revision}"`.length;
  return Buffer.concat([served.subarray(0, at), served.subarray(served[start] === closingBrace ? start : start + 1)]);
}
