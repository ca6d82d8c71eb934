/**
 * Layout of stored and served objects: JSON whose `metadata` directly follows `kind` and `apiVersion`, so that the
 * first `"metadata":{` is the object's own. The resource version is the key's mod revision and not stored; it is
 * inserted there without parsing.
 *
 * Stored: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0",…`
 * Served: `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"17","name":"web-0",…`
 */
import { closeBrace, comma, JSONCursor, openBrace, quote } from '#apimachinery/codec/json/cursor.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { Revision } from '#storage/store.js';

/** The outer members of an API object. */
export interface StorableObject {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata?: { readonly [field: string]: unknown };
}

const metadataStart = Buffer.from('"metadata":{');
const headMembers = [Buffer.from('"kind":'), Buffer.from('"apiVersion":')] as const;
const lineFeed = '\n'.charCodeAt(0);

/** Restores parts of an object that are not kept in memory, for its text. */
export interface TextForm {
  /** The object with additional fields of its own level. */
  ownOf<T extends object>(object: T): T;
  /** A member's value with all additional fields. */
  inside(member: string, value: object): object;
}

const asInMemory: TextForm = { ownOf: (object) => object, inside: (_member, value) => value };

/** Encodes an object for the store, without metadata.resourceVersion. Managed fields come last in the metadata, as in 1.24. */
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

/** True if the bytes look like JSON as this program and 1.24 store it; does not parse. */
export function isStoredLayout(bytes: Buffer): boolean {
  if (bytes[0] !== openBrace || metadataOffset(bytes) < 0) return false;
  // 1.24 ends its JSON with a line feed.
  const last = bytes[bytes.length - 1] === lineFeed ? bytes.length - 2 : bytes.length - 1;
  return bytes[last] === closeBrace;
}

/**
 * Offset after the `{` of the object's metadata; -1 if other members than `kind` and `apiVersion` precede it, since
 * they may contain such a name.
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

/** Inserts the revision, in `memory` if it fits, which saves an allocation. Returns bytes in another layout unchanged. */
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

/** Removes the inserted revision again. */
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
 * Converts a value to the stored layout; undefined if it is not a JSON object. Other programs store members in other
 * orders, such as 1.24, which sorts those of custom objects. Members are moved without parsing, so values keep their
 * text.
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
  // Replace metadata that is not an object.
  parts.push('"metadata":', hasMetadata ? trimmed(metadata) : '{}');
  for (const { name, value: part } of members) {
    if (!head.includes(name)) parts.push(`,${JSON.stringify(name)}:`, part);
  }
  return Buffer.concat(['{', ...parts, '}'].map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/** Removes blanks after the opening brace, where the resource version is inserted. */
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
