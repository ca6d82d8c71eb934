/** Chooses the encoding for a content type. */
import { schemeFor } from '#api/scheme.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { JsonEncoding, jsonMediaType, type ObjectEncoding } from '#client/rest/object-encoding.js';
import { ProtobufEncoding, type ProtobufOptions } from '#client/rest/protobuf-encoding.js';

/** `contentType`: the dialect's Protobuf, or JSON (also if empty). Throws TypeError for any other. */
export function encodingFor(contentType: string, dialect: Dialect, options: ProtobufOptions = {}): ObjectEncoding {
  if (contentType === '' || contentType === jsonMediaType) return new JsonEncoding(schemeFor(dialect));
  if (contentType === dialect.protobufMediaType) return new ProtobufEncoding(schemeFor(dialect), options);
  throw new TypeError(`content type ${JSON.stringify(contentType)} is not supported`);
}
