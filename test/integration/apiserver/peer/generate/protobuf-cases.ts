/** Objects in Protobuf, in requests and responses. */
import { schemeFor } from '#api/scheme.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import type { Case } from '#test/integration/apiserver/peer/case.js';
import type { JsonObject, KindUnderTest } from '#test/integration/apiserver/peer/generate/kind.js';

export function protobufCases(kind: KindUnderTest): Case[] {
  const scheme = schemeFor(kind.dialect);
  const type = kind.dialect.protobufMediaType;
  const codec = new ObjectCodec(scheme);
  const expected = scheme.kind(kind.info.apiVersion, kind.info.declaration.kind);
  if (expected === undefined) throw new RangeError(`no kind of ${kind.file}`);
  const encoded = (object: JsonObject): Buffer =>
    codec.encode(codec.decodeValue(structuredClone(object), { expected }).object, expected, 'protobuf');
  return [0, 1].flatMap((size) => [
    kind.case(`create in Protobuf ${size}`, (name) => {
      const object = kind.object(name, size);
      const step = { ...kind.post(object), contentType: type, body: encoded(object) };
      return [step];
    }),
    kind.case(`create and answer in Protobuf ${size}`, (name) => {
      const object = kind.object(name, size);
      return [{ ...kind.post(object), contentType: type, body: encoded(object), accept: type }];
    }),
    kind.case(`answer in Protobuf ${size}`, (name) => [{ ...kind.post(kind.object(name, size)), accept: type }]),
    kind.case(`half of Protobuf ${size}`, (name) => {
      const object = kind.object(name, size);
      const bytes = encoded(object);
      return [{ ...kind.post(object), contentType: type, body: bytes.subarray(0, bytes.length >> 1) }];
    }),
  ]);
}
