/**
 * The stored form of an object and the one served: JSON whose `metadata` comes right behind `kind` and `apiVersion`, so
 * that the first `"metadata":{` is the object's own. The resource version, which is the key's mod revision and therefore
 * not stored, is spliced in behind it without parsing.
 *
 * Stored: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0",…`
 * Served: `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"17","name":"web-0",…`
 */
import { closeBrace, comma, JSONCursor, openBrace, quote } from '#apimachinery/codec/json/cursor.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { Revision } from '#storage/store.js';

/** An object as the API knows it; only its outermost shape matters here. */
export interface StorableObject {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata?: { readonly [field: string]: unknown };
}

const metadataStart = Buffer.from('"metadata":{');
const headMembers = [Buffer.from('"kind":'), Buffer.from('"apiVersion":')] as const;
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
  if (bytes[0] !== openBrace || metadataOffset(bytes) < 0) return false;
  // 1.24 ends the JSON of its objects with a line feed.
  const last = bytes[bytes.length - 1] === lineFeed ? bytes.length - 2 : bytes.length - 1;
  return bytes[last] === closeBrace;
}

/**
 * Where `{` of the object's metadata ends; -1 where more than `kind` and `apiVersion` is before it, as others may have a part of that
 * name in them.
 */
function metadataOffset(bytes: Buffer): number {
  const cursor = new JSONCursor(bytes);
  if (!cursor.take(openBrace)) return -1;
  for (let members = 0; members <= headMembers.length; members++) {
    const { at } = cursor;
    if (isAt(bytes, at, metadataStart)) return at + metadataStart.length;
    const member = headMembers.find((start) => isAt(bytes, at, start));
    if (member === undefined) return -1;
    cursor.at = at + member.length;
    if (cursor.advance() !== quote || !cursor.take(comma)) return -1;
  }
  return -1;
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
  const cut = metadataOffset(stored);
  if (cut < 0) return stored;
  const text = `"resourceVersion":"${revision}"${stored[cut] === closeBrace ? '' : ','}`;
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
  const at = metadataOffset(served);
  if (at < 0) return served;
  const start = at + `"resourceVersion":"${revision}"`.length;
  return Buffer.concat([served.subarray(0, at), served.subarray(served[start] === closeBrace ? start : start + 1)]);
}

interface Member {
  readonly name: string;
  readonly value: Buffer;
}

/**
 * The value in the stored layout: itself where it is, undefined where it is no object in JSON. Other programs store members in
 * any order, as 1.24 does those of custom objects, by the alphabet. Nothing is parsed, so that every value stays as it was written.
 */
export function laidOut(value: Buffer): Buffer | undefined {
  if (isStoredLayout(value)) return value;
  const members = membersOf(value);
  if (members === undefined) return undefined;
  const head = ['kind', 'apiVersion', 'metadata'];
  const first = head.flatMap((name) => members.filter((member) => member.name === name).slice(-1));
  const metadata = first.find(({ name }) => name === 'metadata')?.value;
  const hasMetadata = metadata?.[0] === openBrace;
  const parts: (string | Buffer)[] = [];
  for (const { name, value: part } of first) if (name !== 'metadata') parts.push(`"${name}":`, part, ',');
  // What is no object cannot be anybody's metadata.
  parts.push('"metadata":', hasMetadata ? trimmed(metadata) : '{}');
  for (const { name, value: part } of members) {
    if (!head.includes(name)) parts.push(`,${JSON.stringify(name)}:`, part);
  }
  return Buffer.concat(['{', ...parts, '}'].map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/** An object without blanks behind its brace: the resource version is put there. */
function trimmed(object: Buffer): Buffer {
  const cursor = new JSONCursor(object, 1);
  cursor.next();
  return cursor.at === 1 ? object : Buffer.concat([object.subarray(0, 1), object.subarray(cursor.at)]);
}

function membersOf(json: Buffer): readonly Member[] | undefined {
  const cursor = new JSONCursor(json);
  const members: Member[] = [];
  if (!cursor.take(openBrace)) return undefined;
  try {
    if (cursor.next() !== closeBrace) {
      do {
        const name = cursor.name();
        const { at } = cursor;
        cursor.skipWhole();
        members.push({ name, value: json.subarray(at, cursor.at) });
      } while (cursor.take(comma));
    }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  return cursor.take(closeBrace) && cursor.next() < 0 ? members : undefined;
}
