/**
 * Reads an enveloped list while it arrives: each item is decoded when its last byte is there, so that a list of any size
 * needs no more memory than what is kept of its objects, and other work goes on in between.
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

/** A field that is longer is no object of the API. */
const maxFieldBytes = 64 * 1024 * 1024;

const typeMetaKey = tag(1, wire.delimited);
const rawKey = tag(2, wire.delimited);
const itemsKey = tag(2, wire.delimited);
const metadataKey = tag(1, wire.delimited);

interface Field {
  readonly key: number;
  /** Of its value: first byte, and the one behind the last. */
  readonly start: number;
  readonly end: number;
}

/** Of the buffer to begin with: items are rarely larger, and several arrive at a time. */
const initialBytes = 64 * 1024;

export class ProtobufListReader {
  readonly #scheme: Scheme;
  readonly #taken: (item: unknown) => unknown;
  readonly #options: MessageOptions;
  /** What has arrived and is not read yet lies between `#at` and `#end`. */
  #buffer: Buffer = Buffer.allocUnsafe(0);
  #at = 0;
  #end = 0;
  /** Of the buffer. */
  #reader: Reader;
  #state: 'prefix' | 'envelope' | 'list' | 'rest' = 'prefix';
  #kind: KindInfo | undefined;
  #itemType: TypeInfo | undefined;
  /** Bytes of the list's message that are still to come. */
  #left = 0;
  readonly #list: JsonObject = { metadata: {} };
  readonly #items: unknown[] = [];

  /** `take` is given each item when it is decoded; what it returns stands in the list. */
  constructor(scheme: Scheme, options: ReadOptions = {}, take: (item: unknown) => unknown = (item) => item) {
    this.#scheme = scheme;
    this.#taken = take;
    this.#options = { ...options, raw: rawReader(scheme) };
    this.#reader = new Reader(this.#buffer, 0, this.#options);
  }

  /** Throws a DecodeError; the reader is of no use afterwards. */
  push(chunk: Buffer): void {
    if (this.#state === 'rest') return;
    this.#append(chunk);
    if (this.#state === 'prefix' && !this.#readPrefix()) return;
    if (this.#state === 'envelope' && !this.#readEnvelope()) return;
    this.#readList();
  }

  /** The whole list. Throws a DecodeError when it is not whole. */
  finish(): JsonObject {
    if (this.#state === 'list' && this.#left === 0) this.#state = 'rest';
    if (this.#state !== 'rest' || this.#kind === undefined) throw new DecodeError('unexpected EOF');
    const { kind, apiVersion } = this.#kind;
    return { kind, apiVersion, ...this.#list, items: this.#items };
  }

  /** Into the same memory over and over: nothing of what is decoded refers to it. */
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
    // Says what is wrong with bytes that are something else.
    decodeEnvelope(this.#buffer.subarray(0, envelopePrefix.length));
    this.#at = envelopePrefix.length;
    this.#state = 'envelope';
    return true;
  }

  /** What the list is, up to where its message begins. */
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
    // contentEncoding and contentType, which say nothing of a list.
    this.#state = 'rest';
  }

  #take({ key, start, end }: Field): void {
    if (key === itemsKey && this.#itemType !== undefined) {
      this.#items.push(this.#taken(readMessage(this.#itemType, this.#reader.between(start, end))));
    } else if (key === metadataKey) {
      const type = this.#kind?.type.byName.get('metadata')?.type;
      const metadata = type === undefined ? undefined : readMessage(type, this.#reader.between(start, end));
      if (metadata !== undefined) this.#list['metadata'] = metadata;
    }
  }

  /** The delimited field at that index; undefined until all of it has arrived. */
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

  /** The number at that index and where it ends; undefined when it has not arrived. */
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
