/** The wire formats of objects. */
import { comma, JSONCursor, openBrace } from '#apimachinery/codec/json/cursor.js';
import { withoutNulls } from '#apimachinery/codec/json/empty-members.js';
import { InternTable } from '#apimachinery/intern-table.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import { JsonListReader } from '#client/rest/json-list.js';
import { jsonIn, parseJson } from '#client/rest/response.js';
import { JsonWatchReader, type WatchReader } from '#client/rest/watch-stream.js';

const marker = Buffer.from('"fieldsV1":');
const fieldsType = { name: 'fieldsV1' };

/**
 * Parses items of JSON lists. `managedFields` are often half of the text and equal for many objects, so each distinct
 * `fieldsV1` text is parsed once and shared.
 */
export class JsonItemReader {
  readonly #table = new InternTable();

  /** The object; values of `fieldsV1` are frozen and shared. Throws TransportError for invalid JSON. */
  read(bytes: Buffer): unknown {
    const values: unknown[] = [];
    let rest = '';
    let copiedTo = 0;
    for (let at = bytes.indexOf(marker); at >= 0; at = bytes.indexOf(marker, copiedTo)) {
      const start = at + marker.length;
      const cursor = new JSONCursor(bytes, start);
      if (!isMember(bytes, at) || bytes[start] !== openBrace || !cursor.skip()) return parseJson(bytes);
      // Replace the value by its index. Original numbers cannot occur: only objects get past the check above.
      rest += `${bytes.toString('utf8', copiedTo, start)}${values.length}`;
      copiedTo = cursor.at;
      try {
        values.push(
          this.#table.of(fieldsType, bytes, start, copiedTo, () => parseJson(bytes.subarray(start, copiedTo))),
        );
      } catch {
        // Parse the whole text, for an error about the original.
        return parseJson(bytes);
      }
    }
    if (values.length === 0) return parseJson(bytes);
    const object = jsonIn(rest + bytes.toString('utf8', copiedTo));
    return putBack(object, values) ? object : parseJson(bytes);
  }
}

/** Whether a quote begins a member name: inside a string, a backslash would precede it. */
function isMember(bytes: Buffer, at: number): boolean {
  const before = bytes[at - 1];
  return before === openBrace || before === comma;
}

interface Managed {
  readonly metadata?: { readonly managedFields?: readonly ({ fieldsV1?: unknown } | null)[] } | null;
}

/** False if the indexes are not, in order, the values of `fieldsV1`. */
function putBack(object: unknown, values: readonly unknown[]): boolean {
  const managers = (object as Managed | null)?.metadata?.managedFields;
  if (!Array.isArray(managers)) return false;
  let next = 0;
  for (const manager of managers) {
    if (typeof manager?.fieldsV1 !== 'number') continue;
    if (manager.fieldsV1 !== next || next === values.length) return false;
    manager.fieldsV1 = values[next++];
  }
  return next === values.length;
}

export const jsonMediaType = 'application/json';

/** Type of an object on the wire. */
export interface ObjectNames {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface EncodedObject {
  readonly body: Buffer | string;
  readonly contentType: string;
}

/** Receives a list item and returns what to store in the list. */
export type TakeItem = (item: unknown) => unknown;

export interface ListReading {
  /** Type of the items, which do not contain it. */
  readonly names: ObjectNames;
  readonly take: TakeItem;
}

export interface ObjectEncoding {
  /** Accept header for responses about the resource. */
  accept(type: ResourceDeclaration, apiVersion: string): string;
  /** Encodes the object; `names` fill in a missing type. */
  encode(object: object, names: ObjectNames): EncodedObject;
  /** Decodes a response; undefined for an empty one. Throws TransportError for an invalid one. */
  decode(contentType: string | undefined, bytes: Buffer): unknown;
  /**
   * Decodes a list; parts of its objects may be shared and frozen. Each item goes through `take` as soon as it has arrived,
   * so that dropped parts are not held in memory until the list ends. Throws TransportError for an invalid list.
   */
  list(contentType: string | undefined, body: AsyncIterable<Buffer>, options: ListReading): Promise<unknown>;
  /** Reads a watch's body; its objects may be shared and frozen, too. */
  watchReader(contentType: string | undefined): WatchReader;
}

/** JSON, which every server and resource supports. Null members of kinds in the scheme count as absent. */
export class JsonEncoding implements ObjectEncoding {
  readonly #items = new JsonItemReader();
  readonly #scheme: Scheme;

  constructor(scheme: Scheme) {
    this.#scheme = scheme;
  }

  accept(): string {
    return jsonMediaType;
  }

  encode(object: object, names: ObjectNames): EncodedObject {
    return { body: toJSONText(withNames(object, names)), contentType: jsonMediaType };
  }

  decode(_contentType: string | undefined, bytes: Buffer): unknown {
    return this.#withoutNulls(parseJson(bytes));
  }

  async list(_contentType: string | undefined, body: AsyncIterable<Buffer>, options: ListReading): Promise<unknown> {
    const { names, take } = options;
    const reader = new JsonListReader((bytes) => take(this.#withoutNulls(this.#items.read(bytes), names)));
    for await (const chunk of body) reader.push(chunk);
    return reader.finish();
  }

  watchReader(): WatchReader {
    return new JsonWatchReader((object) => this.#withoutNulls(object));
  }

  /** `names`: the type of values that do not contain it. */
  #withoutNulls(value: unknown, names?: ObjectNames): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const { apiVersion = names?.apiVersion ?? '', kind = names?.kind ?? '' } = value as Partial<ObjectNames>;
    const type = this.#scheme.kind(apiVersion, kind)?.type;
    return type === undefined ? value : withoutNulls(type, value);
  }
}

/** Adds a missing type to a copy, since objects may be shared. */
function withNames(object: object & Partial<ObjectNames>, names: ObjectNames): object {
  if (object.apiVersion !== undefined && object.kind !== undefined) return object;
  return { ...object, apiVersion: object.apiVersion ?? names.apiVersion, kind: object.kind ?? names.kind };
}
