/**
 * Reads an enveloped list while it arrives: each item is decoded when its last byte is there, so that a list of any size
 * needs no more memory than its objects, and other work goes on in between.
 */
import { DecodeError } from '#apimachinery/codec/decode-error.js';
import { decodeEnvelope, envelopePrefix } from '#apimachinery/codec/envelope.js';
import type { JsonObject } from '#apimachinery/codec/json-walk.js';
import { decodeMessage, type MessageOptions } from '#apimachinery/codec/protobuf/decode.js';
import { rawReader } from '#apimachinery/codec/protobuf/protobuf.js';
import type { SharedTexts } from '#apimachinery/codec/protobuf/shared-texts.js';
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

export class ProtobufListReader {
  readonly #scheme: Scheme;
  readonly #options: MessageOptions;
  #pending: Buffer = Buffer.alloc(0);
  #state: 'prefix' | 'envelope' | 'list' | 'rest' = 'prefix';
  #kind: KindInfo | undefined;
  #itemType: TypeInfo | undefined;
  /** Bytes of the list's message that are still to come. */
  #left = 0;
  readonly #list: JsonObject = { metadata: {} };
  readonly #items: unknown[] = [];

  constructor(scheme: Scheme, texts?: SharedTexts) {
    this.#scheme = scheme;
    this.#options = { raw: rawReader(scheme), texts };
  }

  /** Throws a DecodeError; the reader is of no use afterwards. */
  push(chunk: Buffer): void {
    if (this.#state === 'rest') return;
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
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

  #readPrefix(): boolean {
    if (this.#pending.length < envelopePrefix.length) return false;
    // Says what is wrong with bytes that are something else.
    decodeEnvelope(this.#pending.subarray(0, envelopePrefix.length));
    this.#pending = this.#pending.subarray(envelopePrefix.length);
    this.#state = 'envelope';
    return true;
  }

  /** What the list is, up to where its message begins. */
  #readEnvelope(): boolean {
    const head = varint(this.#pending, 0);
    if (head === undefined) return false;
    if (head.value !== typeMetaKey) throw new DecodeError('a list that does not begin with its type');
    const typeMeta = this.#field(0);
    if (typeMeta === undefined) return false;
    const key = varint(this.#pending, typeMeta.end);
    if (key === undefined) return false;
    if (key.value !== rawKey) throw new DecodeError('a list without a message');
    const size = varint(this.#pending, key.end);
    if (size === undefined) return false;
    const head4 = Buffer.from(envelopePrefix);
    const { apiVersion, kind } = decodeEnvelope(Buffer.concat([head4, this.#pending.subarray(0, typeMeta.end)]));
    this.#kind = this.#scheme.kind(apiVersion, kind);
    const items = this.#kind?.type.byName.get('items');
    if (this.#kind === undefined || items?.number !== 2 || items.type === undefined) {
      throw new DecodeError(`no list ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`);
    }
    this.#itemType = items.type;
    this.#left = size.value;
    this.#pending = this.#pending.subarray(size.end);
    this.#state = 'list';
    return true;
  }

  #readList(): void {
    let at = 0;
    while (this.#left > 0) {
      const field = this.#field(at);
      if (field === undefined) break;
      this.#left -= field.end - at;
      if (this.#left < 0) throw new DecodeError('unexpected EOF');
      this.#take(field);
      at = field.end;
    }
    this.#pending = this.#pending.subarray(at);
    // contentEncoding and contentType, which say nothing of a list.
    if (this.#left === 0) this.#state = 'rest';
  }

  #take({ key, start, end }: Field): void {
    const bytes = this.#pending.subarray(start, end);
    if (key === itemsKey && this.#itemType !== undefined) {
      this.#items.push(decodeMessage(this.#itemType, bytes, this.#options));
    } else if (key === metadataKey) {
      const type = this.#kind?.type.byName.get('metadata')?.type;
      const metadata = type === undefined ? undefined : decodeMessage(type, bytes, this.#options);
      if (metadata !== undefined) this.#list['metadata'] = metadata;
    }
  }

  /** The delimited field at that index; undefined until all of it has arrived. */
  #field(at: number): Field | undefined {
    const key = varint(this.#pending, at);
    if (key === undefined) return undefined;
    if ((key.value & 7) !== wire.delimited) throw new DecodeError(`proto: wrong wireType = ${key.value & 7} in a list`);
    const size = varint(this.#pending, key.end);
    if (size === undefined) return undefined;
    if (size.value > maxFieldBytes) throw new DecodeError(`an item of ${size.value} bytes is too large`);
    const end = size.end + size.value;
    return end > this.#pending.length ? undefined : { key: key.value, start: size.end, end };
  }
}

/** The number at that index and where it ends; undefined when it has not arrived. */
function varint(bytes: Buffer, at: number): { value: number; end: number } | undefined {
  let value = 0;
  for (let i = 0; i < 5; i++) {
    const byte = bytes[at + i];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return { value, end: at + i + 1 };
  }
  throw new DecodeError('proto: integer overflow');
}
