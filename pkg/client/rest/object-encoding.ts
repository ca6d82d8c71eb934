/** In which form objects travel between client and server. */
import { withoutNulls } from '#apimachinery/codec/json/empty-members.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import { JsonItemReader } from '#client/rest/json-item.js';
import { JsonListReader } from '#client/rest/json-list.js';
import { parseJson } from '#client/rest/response.js';
import { JsonWatchReader, type WatchReader } from '#client/rest/watch-stream.js';

export const jsonMediaType = 'application/json';

/** What an object is called on the wire. */
export interface ObjectNames {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface EncodedObject {
  readonly body: Buffer | string;
  readonly contentType: string;
}

/** Given an item of a list, says what is to stand in its place. */
export type TakeItem = (item: unknown) => unknown;

export interface ListReading {
  /** Of the items, which do not say it themselves. */
  readonly names: ObjectNames;
  readonly take: TakeItem;
}

export interface ObjectEncoding {
  /** Value of the Accept header for a resource's answers. */
  accept(type: ResourceDeclaration, apiVersion: string): string;
  /** The object with `names` filled in where it does not say itself what it is. */
  encode(object: object, names: ObjectNames): EncodedObject;
  /** What an answer of that media type holds; undefined for an empty one. Throws TransportError for nonsense. */
  decode(contentType: string | undefined, bytes: Buffer): unknown;
  /**
   * The list that a body of that media type holds; parts of its objects may be shared and frozen. Each item goes through
   * `take` as soon as it has arrived, so that whatever that drops of it is not in memory until the list has ended. Throws
   * TransportError for nonsense.
   */
  list(contentType: string | undefined, body: AsyncIterable<Buffer>, options: ListReading): Promise<unknown>;
  /** Reads a watch's body of that media type; the same holds of its objects. */
  watchReader(contentType: string | undefined): WatchReader;
}

/** Every server and every resource has it. Members of kinds of the scheme that are null are absent in what it reads. */
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
    return { body: toJSONText(named(object, names)), contentType: jsonMediaType };
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

  /** `names`: of what does not say itself what it is. */
  #withoutNulls(value: unknown, names?: ObjectNames): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const { apiVersion = names?.apiVersion ?? '', kind = names?.kind ?? '' } = value as Partial<ObjectNames>;
    const type = this.#scheme.kind(apiVersion, kind)?.type;
    return type === undefined ? value : withoutNulls(type, value);
  }
}

/** A copy where something is missing, since objects may be shared. */
function named(object: object & Partial<ObjectNames>, names: ObjectNames): object {
  if (object.apiVersion !== undefined && object.kind !== undefined) return object;
  return { ...object, apiVersion: object.apiVersion ?? names.apiVersion, kind: object.kind ?? names.kind };
}
