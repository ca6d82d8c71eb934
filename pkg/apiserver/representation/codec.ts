/** What the API server needs from the codecs of the kinds it serves. */
import type { ApiObjectShape } from '#api/object.js';
import type { Format } from '#apiserver/http/media-type.js';

/** A kind on the wire: `{ apiVersion: 'apps/v1', kind: 'Deployment' }`. */
export interface TypeRef {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface Decoded {
  readonly object: ApiObjectShape;
  /** Complaints of strict decoding: unknown and duplicate fields, in the wording of 1.24. */
  readonly strictErrors: readonly string[];
}

/** `prefix` and `typeMeta`, then tag and length of `message`, then it, then `rest`. */
export interface ProtobufParts {
  readonly prefix: Buffer;
  readonly typeMeta: Buffer;
  readonly message: Buffer;
  readonly rest: Buffer;
}

export interface Codec {
  /**
   * One object of any known kind. `expected` is taken where the body names no kind of its own. The object's fields are
   * pruned to those declared; declared defaults are filled in. Throws 400 for what cannot be decoded.
   */
  decode(body: Buffer, format: Format, expected: TypeRef): Decoded;
  /** Prunes and defaults an object that is in memory (a patch's result). */
  normalize(object: unknown, type: TypeRef): Decoded;
  /** With the 4-byte prefix and the envelope. Throws 406 for kinds without a Protobuf form. */
  encodeProtobuf(object: object): Buffer;
  /**
   * The same in its parts, so that a list can be put together from its items' messages: what stands before the
   * message's tag and length, and what behind it.
   */
  encodeProtobufParts(object: object): ProtobufParts;
  /** One frame of a Protobuf watch stream, without its length prefix. */
  encodeProtobufEvent(type: string, object: object): Buffer;
  /** True for kinds that have a Protobuf form. */
  hasProtobuf(type: TypeRef): boolean;
}
