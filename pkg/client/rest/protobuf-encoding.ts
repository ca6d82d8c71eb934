/** Protobuf for the kinds of a scheme, JSON for all others. */
import { schemeFor } from '#api/scheme.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { ProtobufListReader } from '#apimachinery/codec/protobuf/list-reader.js';
import type { ReadOptions } from '#apimachinery/codec/protobuf/reader.js';
import { WatchFrameReader } from '#apimachinery/codec/watch-event-frames.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { InternTable } from '#apimachinery/intern-table.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import {
  type EncodedObject,
  JsonEncoding,
  jsonMediaType,
  type ListReading,
  type ObjectEncoding,
  type ObjectNames,
} from '#client/rest/object-encoding.js';
import type { WatchMessage, WatchReader } from '#client/rest/watch-stream.js';
import { TransportError } from '#http/client/transport-error.js';

/** Far above any API object. */
const maxFrameBytes = 64 * 1024 * 1024;

export interface ProtobufOptions {
  /** Drop `managedFields` when reading; an update without them leaves them unchanged. */
  readonly withoutManagers?: boolean;
}

export class ProtobufEncoding implements ObjectEncoding {
  readonly #codec: ObjectCodec;
  /** For lists and watches, which fill caches: their objects are shared and never modified. */
  readonly #cached: ObjectCodec;
  readonly #mediaType: string;
  readonly #json: JsonEncoding;
  readonly #caching: ReadOptions;

  constructor(scheme: Scheme, { withoutManagers = false }: ProtobufOptions = {}) {
    this.#caching = { table: new InternTable(), withoutManagers };
    this.#json = new JsonEncoding(scheme);
    this.#codec = new ObjectCodec(scheme, { withoutManagers });
    this.#cached = new ObjectCodec(scheme, this.#caching);
    this.#mediaType = scheme.dialect.protobufMediaType;
  }

  /** Servers without Protobuf for a kind, such as aggregated ones, respond in JSON. */
  accept(type: ResourceDeclaration, apiVersion: string): string {
    const isInScheme = this.#codec.scheme.kind(apiVersion, type.kind) !== undefined;
    return isInScheme ? `${this.#mediaType},${jsonMediaType}` : jsonMediaType;
  }

  encode(object: object, names: ObjectNames): EncodedObject {
    const members = object as Partial<ObjectNames>;
    const apiVersion = members.apiVersion ?? names.apiVersion;
    const kind = members.kind ?? names.kind;
    const info = this.#codec.scheme.kind(apiVersion, kind);
    if (info === undefined) return this.#json.encode(object, names);
    return { body: this.#codec.encode({ ...object }, info, 'protobuf'), contentType: this.#mediaType };
  }

  decode(contentType: string | undefined, bytes: Buffer): unknown {
    if (bytes.length === 0) return undefined;
    return this.#speaksProtobuf(contentType) ? objectIn(bytes, this.#codec) : this.#json.decode(contentType, bytes);
  }

  async list(contentType: string | undefined, body: AsyncIterable<Buffer>, options: ListReading): Promise<unknown> {
    if (!this.#speaksProtobuf(contentType)) return this.#json.list(contentType, body, options);
    const reader = new ProtobufListReader(this.#codec.scheme, this.#caching, options.take);
    for await (const chunk of body) decodeResponse(() => reader.push(chunk));
    return decodeResponse(() => reader.finish());
  }

  watchReader(contentType: string | undefined): WatchReader {
    return this.#speaksProtobuf(contentType) ? new ProtobufWatchReader(this.#cached) : this.#json.watchReader();
  }

  #speaksProtobuf(contentType: string | undefined): boolean {
    return contentType?.split(';', 1)[0]?.trim() === this.#mediaType;
  }
}

/** Reads a watch's Protobuf messages, one per frame. */
class ProtobufWatchReader implements WatchReader {
  readonly #frames = new WatchFrameReader({ maxFrameBytes });
  readonly #codec: ObjectCodec;

  constructor(codec: ObjectCodec) {
    this.#codec = codec;
  }

  *push(chunk: Buffer): Iterable<WatchMessage> {
    for (const { type, object } of decodeResponse(() => this.#frames.push(chunk)))
      yield { type, object: objectIn(object, this.#codec) };
  }
}

function objectIn(bytes: Buffer, codec: ObjectCodec): unknown {
  return decodeResponse(() => codec.decode(bytes, { encoding: 'protobuf' }).object);
}

/** Undecodable bytes are the server's fault: converts the decoder's error. */
function decodeResponse<R>(decode: () => R): R {
  try {
    return decode();
  } catch (error) {
    const text = messageOf(error);
    throw new TransportError('Protocol', `the response is not Protobuf: ${text}`, { cause: error });
  }
}

/** The encoding for the dialect's Protobuf, or for JSON (also if empty). Throws TypeError for any other content type. */
export function encodingFor(contentType: string, dialect: Dialect, options: ProtobufOptions = {}): ObjectEncoding {
  if (contentType === '' || contentType === jsonMediaType) return new JsonEncoding(schemeFor(dialect));
  if (contentType === dialect.protobufMediaType) return new ProtobufEncoding(schemeFor(dialect), options);
  throw new TypeError(`content type ${JSON.stringify(contentType)} is not supported`);
}
