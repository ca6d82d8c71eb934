/**
 * Decodes an enveloped list while it arrives: each item is decoded when complete, so that memory is needed only for the
 * decoded objects, and other work can run in between.
 */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { readMessage } from '#apimachinery/codec/protobuf/decode.js';
import { decodeEnvelope, envelopePrefix } from '#apimachinery/codec/protobuf/envelope.js';
import { rawReader } from '#apimachinery/codec/protobuf/protobuf.js';
import { type MessageOptions, Reader, type ReadOptions } from '#apimachinery/codec/protobuf/reader.js';
import { tag, wire } from '#apimachinery/codec/protobuf/writer.js';
import type { KindInfo, Scheme } from '#apimachinery/schema/scheme.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** Maximum size of a field; no API object is larger. */
const maxFieldBytes = 64 * 1024 * 1024;

const typeMetaKey = tag(1, wire.delimited);
const rawKey = tag(2, wire.delimited);
const itemsKey = tag(2, wire.delimited);
const metadataKey = tag(1, wire.delimited);

interface Field {
  readonly key: number;
  /** Range of its value. */
  readonly start: number;
  readonly end: number;
}

/** Initial buffer size: items are rarely larger, and several arrive at a time. */
const initialBytes = 64 * 1024;

export class ProtobufListReader {
  readonly #scheme: Scheme;
  readonly #takeItem: (item: unknown) => unknown;
  readonly #options: MessageOptions;
  /** Received bytes that are not decoded yet lie between `#at` and `#end`. */
  #buffer: Buffer = Buffer.allocUnsafe(0);
  #at = 0;
  #end = 0;
  /** Reads from the buffer. */
  #reader: Reader;
  #state: 'prefix' | 'envelope' | 'list' | 'rest' = 'prefix';
  #kind: KindInfo | undefined;
  #itemType: TypeInfo | undefined;
  /** Remaining bytes of the list's message. */
  #left = 0;
  readonly #list: JsonObject = { metadata: {} };
  readonly #items: unknown[] = [];

  /** `take` receives each decoded item and returns the item for the list. */
  constructor(scheme: Scheme, options: ReadOptions = {}, take: (item: unknown) => unknown = (item) => item) {
    this.#scheme = scheme;
    this.#takeItem = take;
    this.#options = { ...options, raw: rawReader(scheme) };
    this.#reader = new Reader(this.#buffer, 0, this.#options);
  }

  /** Throws a DecodeError; the reader is unusable afterwards. */
  push(chunk: Buffer): void {
    if (this.#state === 'rest') return;
    this.#append(chunk);
    if (this.#state === 'prefix' && !this.#readPrefix()) return;
    if (this.#state === 'envelope' && !this.#readEnvelope()) return;
    this.#readList();
  }

  /** The complete list. Throws a DecodeError if it is incomplete. */
  finish(): JsonObject {
    if (this.#state === 'list' && this.#left === 0) this.#state = 'rest';
    if (this.#state !== 'rest' || this.#kind === undefined) throw new DecodeError('unexpected EOF');
    const { kind, apiVersion } = this.#kind;
    return { kind, apiVersion, ...this.#list, items: this.#items };
  }

  /** Reuses the same memory: decoded values never refer to it. */
  #append(chunk: Buffer): void {
    const pending = this.#end - this.#at;
    if (pending + chunk.length > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(initialBytes, 2 * (pending + chunk.length)));
      this.#buffer.copy(larger, 0, this.#at, this.#end);
      this.#buffer = larger;
      this.#reader = new Reader(larger, 0, this.#options);
    } else if (this.#end + chunk.length > this.#buffer.length) {
      this.#buffer.copyWithin(0, this.#at, this.#end);
    } else {
      this.#end += chunk.copy(this.#buffer, this.#end);
      return;
    }
    this.#at = 0;
    this.#end = pending + chunk.copy(this.#buffer, pending);
  }

  #readPrefix(): boolean {
    if (this.#end < envelopePrefix.length) return false;
    // Throws a DecodeError for any other prefix.
    decodeEnvelope(this.#buffer.subarray(0, envelopePrefix.length));
    this.#at = envelopePrefix.length;
    this.#state = 'envelope';
    return true;
  }

  /** Reads the list's kind, up to the start of its message. */
  #readEnvelope(): boolean {
    const head = this.#varint(this.#at);
    if (head === undefined) return false;
    if (head.value !== typeMetaKey) throw new DecodeError('a list that does not begin with its type');
    const typeMeta = this.#field(this.#at);
    if (typeMeta === undefined) return false;
    const key = this.#varint(typeMeta.end);
    if (key === undefined) return false;
    if (key.value !== rawKey) throw new DecodeError('a list without a message');
    const size = this.#varint(key.end);
    if (size === undefined) return false;
    const { apiVersion, kind } = decodeEnvelope(
      Buffer.concat([Buffer.from(envelopePrefix), this.#buffer.subarray(this.#at, typeMeta.end)]),
    );
    this.#kind = this.#scheme.kind(apiVersion, kind);
    const items = this.#kind?.type.byName.get('items');
    if (this.#kind === undefined || items?.number !== 2 || items.type === undefined) {
      throw new DecodeError(`no list ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`);
    }
    this.#itemType = items.type;
    this.#left = size.value;
    this.#at = size.end;
    this.#state = 'list';
    return true;
  }

  #readList(): void {
    while (this.#left > 0) {
      const field = this.#field(this.#at);
      if (field === undefined) return;
      this.#left -= field.end - this.#at;
      if (this.#left < 0) throw new DecodeError('unexpected EOF');
      this.#take(field);
      this.#at = field.end;
    }
    // contentEncoding and contentType, which lists do not use.
    this.#state = 'rest';
  }

  #take({ key, start, end }: Field): void {
    if (key === itemsKey && this.#itemType !== undefined) {
      this.#items.push(this.#takeItem(readMessage(this.#itemType, this.#reader.between(start, end))));
    } else if (key === metadataKey) {
      const type = this.#kind?.type.byName.get('metadata')?.type;
      const metadata = type === undefined ? undefined : readMessage(type, this.#reader.between(start, end));
      if (metadata !== undefined) this.#list['metadata'] = metadata;
    }
  }

  /** The delimited field at that index; undefined until it is complete. */
  #field(at: number): Field | undefined {
    const key = this.#varint(at);
    if (key === undefined) return undefined;
    if ((key.value & 7) !== wire.delimited) throw new DecodeError(`proto: wrong wireType = ${key.value & 7} in a list`);
    const size = this.#varint(key.end);
    if (size === undefined) return undefined;
    if (size.value > maxFieldBytes) throw new DecodeError(`an item of ${size.value} bytes is too large`);
    const end = size.end + size.value;
    return end > this.#end ? undefined : { key: key.value, start: size.end, end };
  }

  /** The number at that index and its end; undefined until it is complete. */
  #varint(at: number): { value: number; end: number } | undefined {
    let value = 0;
    for (let i = 0; i < 5; i++) {
      if (at + i >= this.#end) return undefined;
      const byte = this.#buffer[at + i] as number;
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return { value, end: at + i + 1 };
    }
    throw new DecodeError('proto: integer overflow');
  }
}
