import type { Transform } from '#apiserver/http/media-type.js';
import { objectOf, type ServedResource } from '#apiserver/registry/served-resource.js';
import type { Codec } from '#apiserver/representation/codec.js';
import { partialOf } from '#apiserver/representation/partial.js';
import type { Entry } from '#storage/resource-storage.js';

/** An object's Protobuf message, encoded once per object version; lists and watches share it. */
export function protobufMessageOf(
  codec: Codec,
  resource: ServedResource,
  entry: Entry,
  transform: Transform | undefined,
): Buffer {
  if (transform === undefined) {
    return entry.encoded(`protobuf:${resource.apiVersion}`, () => codec.protobufMessage(objectOf(resource, entry)));
  }
  const name = `protobuf:partial:${transform.group}/${transform.version}`;
  return entry.encoded(name, () => codec.protobufMessage(partialOf(objectOf(resource, entry), transform)));
}
