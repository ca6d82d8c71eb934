/** Decodes and encodes objects of all kinds of a scheme. */

import type { ApiObjectShape } from '#api/meta/object.js';
import type { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { withNulls } from '#apimachinery/codec/json/empty-members.js';
import type { FieldValidation } from '#apimachinery/codec/json/json.js';
import { maxObjects } from '#apimachinery/codec/json/size-limit.js';
import { complete, type JsonObject } from '#apimachinery/codec/json/walk.js';
import type { Encoding } from '#apimachinery/codec/negotiate.js';
import { type DecodedObject, ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { encodeMessage } from '#apimachinery/codec/protobuf/encode.js';
import { envelopeAround } from '#apimachinery/codec/protobuf/envelope.js';
import { encodeProtobuf, itemsNumber, protobufListEnds } from '#apimachinery/codec/protobuf/protobuf.js';
import { encodeWatchFrame, watchFrameHead } from '#apimachinery/codec/watch-event-frames.js';
import type { Draft } from '#apimachinery/draft.js';
import { badRequest, notAcceptable } from '#apimachinery/errors/status.js';
import type { KindInfo, Scheme } from '#apimachinery/schema/scheme.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** A kind on the wire: `{ apiVersion: 'apps/v1', kind: 'Deployment' }`. */
export interface TypeRef {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface Decoded {
  readonly object: Draft<ApiObjectShape>;
  /** Texts for `Warning` headers: unknown and repeated fields, unless they are ignored. */
  readonly warnings: readonly string[];
}

/** Options for reading a body. */
export interface ReadOptions {
  readonly validation: FieldValidation;
  /** YAML converted to JSON: the repeated keys of the original. */
  readonly repeatedKeys?: readonly string[] | undefined;
  /** YAML: why it is malformed. */
  readonly yamlFault?: DecodeError | undefined;
}

/** Kinds that are not built in. */
export type CustomKinds = Pick<Scheme, 'kind'>;

export class Codec {
  /** The built-in kinds. */
  readonly scheme: Scheme;
  readonly #custom: CustomKinds | undefined;
  readonly #objects: ObjectCodec;

  constructor(scheme: Scheme, custom?: CustomKinds) {
    this.scheme = scheme;
    this.#custom = custom;
    this.#objects = new ObjectCodec(scheme, { maxParts: maxObjects }, custom);
  }

  /** One object of the expected kind, which is also assumed if the body names none. Throws 400. */
  decode(body: Buffer, encoding: Encoding, expected: TypeRef, options: ReadOptions): Decoded {
    return shaped(this.#objects.decode(body, { ...options, encoding, expected: this.#kind(expected) }));
  }

  /** As `decode`, for large bodies: other requests run between the steps. */
  *decodeSteps(
    body: Buffer,
    encoding: Encoding,
    expected: TypeRef,
    options: ReadOptions,
  ): Generator<undefined, Decoded> {
    return shaped(yield* this.#objects.decodeSteps(body, { ...options, encoding, expected: this.#kind(expected) }));
  }

  /** As `decode`, for kinds with several versions of the same form: accepts any of them. */
  decodeOneOf(
    body: Buffer,
    encoding: Encoding,
    expected: readonly [TypeRef, ...TypeRef[]],
    options: ReadOptions,
  ): Decoded {
    const [first, ...others] = expected;
    try {
      return this.decode(body, encoding, first, options);
    } catch (error) {
      for (const other of others) {
        try {
          return this.decode(body, encoding, other, options);
        } catch {
          // Report the error for the first version.
        }
      }
      throw error;
    }
  }

  /**
   * Decodes a parsed value, such as a patch's result, and takes ownership of it. Skips the members in `canonical`, which were
   * decoded before. Throws 400.
   */
  normalize(value: unknown, type: TypeRef, validation: FieldValidation, canonical?: ReadonlySet<unknown>): Decoded {
    const options = { expected: this.#kind(type), validation, ...(canonical && { canonical }) };
    return shaped(this.#objects.decodeValue(value, options));
  }

  /** Adds, in place, required parts that a strategy has removed or omitted. */
  complete(object: Draft<ApiObjectShape>): void {
    const { apiVersion = '', kind = '' } = object;
    const type = this.#find(apiVersion, kind)?.type;
    if (type === undefined) return;
    const parts = object as unknown as JsonObject;
    complete(type, parts);
    for (const { name, container, type: of } of type.fields) {
      const part = parts[name];
      if (container !== 'single' || of?.shape !== 'struct' || typeof part !== 'object' || part === null) continue;
      complete(of, part as JsonObject);
    }
  }

  /** The object as JSON and YAML show it: with nulls for lists that 1.24 never omits. */
  shown(object: object): object {
    const { apiVersion = '', kind = '' } = object as Partial<TypeRef>;
    const type = this.scheme.kind(apiVersion, kind)?.type;
    return type === undefined ? object : withNulls(type, object);
  }

  /** Encodes with prefix and envelope. Throws 406 for kinds without a Protobuf form. */
  encodeProtobuf(object: object): Buffer {
    return encodeProtobuf(this.#kindOf(object), object);
  }

  /** The bare message of an object, as in lists. */
  protobufMessage(object: object): Buffer {
    return encodeMessage(this.#kindOf(object).type, object);
  }

  itemsNumber(list: TypeRef): number {
    return itemsNumber(this.#kind(list).type);
  }

  /** The bytes before and after a list's items, which take `itemBytes` with their heads. */
  protobufListEnds(list: TypeRef, metadata: object, itemBytes: number): { head: Buffer; tail: Buffer } {
    return protobufListEnds(this.#kind(list), metadata, itemBytes);
  }

  /** The buffers of one Protobuf watch frame around an encoded message. */
  protobufEventParts(type: string, object: TypeRef, message: Buffer): Buffer[] {
    const { before, after } = envelopeAround(object.apiVersion, object.kind, message.length);
    const size = before.length + message.length + after.length;
    return [watchFrameHead(type, size), before, message, after];
  }

  /** One frame of a Protobuf watch, with its length. */
  protobufEvent(type: string, object: object): Buffer {
    return encodeWatchFrame(type, this.encodeProtobuf(object));
  }

  hasProtobuf(type: TypeRef): boolean {
    return this.scheme.kind(type.apiVersion, type.kind) !== undefined;
  }

  /** The kind's fields. Throws 400 for an unknown kind. */
  typeOf(type: TypeRef): TypeInfo {
    return this.#kind(type).type;
  }

  #kind(type: TypeRef): KindInfo {
    const kind = this.#find(type.apiVersion, type.kind);
    if (kind === undefined) throw badRequest(`no kind "${type.kind}" is registered for version "${type.apiVersion}"`);
    return kind;
  }

  #find(apiVersion: string, kind: string): KindInfo | undefined {
    return this.scheme.kind(apiVersion, kind) ?? this.#custom?.kind(apiVersion, kind);
  }

  #kindOf(object: object): KindInfo {
    const { apiVersion = 'v1', kind = '' } = object as Partial<TypeRef>;
    const info = this.scheme.kind(apiVersion, kind);
    if (info === undefined) throw notAcceptable(['application/json', 'application/yaml']);
    return info;
  }
}

function shaped({ object, warnings }: DecodedObject): Decoded {
  return { object: object as unknown as Draft<ApiObjectShape>, warnings };
}
