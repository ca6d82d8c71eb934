import { objectOf, type ServedResource } from '#apiserver/registry/served-resource.js';
import type { Codec } from '#apiserver/representation/codec.js';
import type { Entry } from '#storage/resource-storage.js';

/** An object's Protobuf message, encoded once per object version; lists and watches share it. */
export function protobufMessageOf(codec: Codec, resource: ServedResource, entry: Entry): Buffer {
  return entry.encoded(`protobuf:${resource.apiVersion}`, () => codec.protobufMessage(objectOf(resource, entry)));
}
