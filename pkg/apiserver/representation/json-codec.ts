/** JSON and YAML alone. */
import { parse } from 'yaml';
import type { ApiObjectShape } from '#api/object.js';
import { badRequest, notAcceptable, unsupportedMediaType } from '#apimachinery/errors/status.js';
import type { Format } from '#apiserver/http/media-type.js';
import type { Codec, Decoded, TypeRef } from '#apiserver/representation/codec.js';

export class JsonCodec implements Codec {
  decode(body: Buffer, format: Format, expected: TypeRef): Decoded {
    if (format === 'protobuf') throw unsupportedMediaType(['application/json', 'application/yaml']);
    let value: unknown;
    try {
      value = format === 'json' ? JSON.parse(body.toString()) : parse(body.toString());
    } catch (error) {
      throw badRequest(error instanceof Error ? error.message : String(error), error);
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw badRequest('not an object');
    return this.normalize(value, expected);
  }
  normalize(object: unknown, type: TypeRef): Decoded {
    const { kind, apiVersion, metadata, ...rest } = dropNulls(object) as Record<string, unknown>;
    const shaped = {
      kind: kind ?? type.kind,
      apiVersion: apiVersion ?? type.apiVersion,
      metadata: metadata ?? {},
      ...rest,
    };
    return { object: shaped as ApiObjectShape, strictErrors: [] };
  }
  encodeProtobuf(): Buffer {
    throw notAcceptable(['application/json', 'application/yaml']);
  }
  encodeProtobufParts(): never {
    throw notAcceptable(['application/json', 'application/yaml']);
  }
  encodeProtobufEvent(): Buffer {
    throw notAcceptable(['application/json']);
  }
  hasProtobuf(): boolean {
    return false;
  }
}

function dropNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, v]) => v !== null)
      .map(([k, v]) => [k, dropNulls(v)]),
  );
}
