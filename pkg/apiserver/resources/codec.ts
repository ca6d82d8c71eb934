/** Objects in and out of bodies, for all kinds of a scheme. */

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
import { encodeWatchFrame, watchFrameHead } from '#apimachinery/codec/watch-frames.js';
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

/** How a body is read. */
export interface ReadOptions {
  readonly validation: FieldValidation;
  /** Of YAML that is JSON already: what it said twice. */
  readonly repeatedKeys?: readonly string[] | undefined;
  /** Of YAML: why it cannot be read. */
  readonly yamlFault?: DecodeError | undefined;
}

/** Kinds that are not built in. */
export type CustomKinds = Pick<Scheme, 'kind'>;

export class Codec {
  /** Of the built-in kinds. */
  readonly scheme: Scheme;
  readonly #custom: CustomKinds | undefined;
  readonly #objects: ObjectCodec;

  constructor(scheme: Scheme, custom?: CustomKinds) {
    this.scheme = scheme;
    this.#custom = custom;
    this.#objects = new ObjectCodec(scheme, { maxParts: maxObjects }, custom);
  }

  /** One object of the expected kind, which is also taken for what does not name its kind. Throws 400. */
  decode(body: Buffer, encoding: Encoding, expected: TypeRef, options: ReadOptions): Decoded {
    return shaped(this.#objects.decode(body, { ...options, encoding, expected: this.#kind(expected) }));
  }

  /** The same for large bodies: others may run between the steps. */
  *decodeSteps(
    body: Buffer,
    encoding: Encoding,
    expected: TypeRef,
    options: ReadOptions,
  ): Generator<undefined, Decoded> {
    return shaped(yield* this.#objects.decodeSteps(body, { ...options, encoding, expected: this.#kind(expected) }));
  }

  /** The same for versions of a kind that look the same: an object of any of them. */
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
          // What is wrong with it is told for the first version.
        }
      }
      throw error;
    }
  }

  /**
   * The same for a value that is parsed already (a patch's result), which is taken over, except for the members in
   * `canonical`: these have been through here before. Throws 400.
   */
  normalize(value: unknown, type: TypeRef, validation: FieldValidation, canonical?: ReadonlySet<unknown>): Decoded {
    const options = { expected: this.#kind(type), validation, ...(canonical && { canonical }) };
    return shaped(this.#objects.decodeValue(value, options));
  }

  /**
   * Adds, in place, the parts that every object of its kind has and that a strategy has taken away as a whole, or left out
   * of a status that it has made.
   */
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

  /** The object as JSON and YAML show it: with nulls for lists that 1.24 never leaves out. */
  shown(object: object): object {
    const { apiVersion = '', kind = '' } = object as Partial<TypeRef>;
    const type = this.scheme.kind(apiVersion, kind)?.type;
    return type === undefined ? object : withNulls(type, object);
  }

  /** With prefix and envelope. Throws 406 for kinds without a Protobuf form. */
  encodeProtobuf(object: object): Buffer {
    return encodeProtobuf(this.#kindOf(object), object);
  }

  /** The bare message of an object, as lists hold it. */
  protobufMessage(object: object): Buffer {
    return encodeMessage(this.#kindOf(object).type, object);
  }

  /** Field number of a list's items. */
  itemsNumber(list: TypeRef): number {
    return itemsNumber(this.#kind(list).type);
  }

  /** What stands before and behind the items of a list, which take `itemBytes` with their heads. */
  protobufListEnds(list: TypeRef, metadata: object, itemBytes: number): { head: Buffer; tail: Buffer } {
    return protobufListEnds(this.#kind(list), metadata, itemBytes);
  }

  /** One frame of a Protobuf watch around a message that is encoded already: the buffers that make it up. */
  protobufEventParts(type: string, object: TypeRef, message: Buffer): Buffer[] {
    const { before, after } = envelopeAround(object.apiVersion, object.kind, message.length);
    const size = before.length + message.length + after.length;
    return [watchFrameHead(type, size), before, message, after];
  }

  /** One frame of a Protobuf watch, its length included. */
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
