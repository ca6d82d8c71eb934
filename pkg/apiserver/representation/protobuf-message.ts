import { protobufItem, protobufItemMessage } from '#apimachinery/codec/protobuf/protobuf.js';
import type { Transform } from '#apiserver/http/media-type.js';
import { objectOf, type ServedResource } from '#apiserver/registry/served-resource.js';
import type { Codec } from '#apiserver/representation/codec.js';
import { partialOf } from '#apiserver/representation/partial.js';
import type { Entry } from '#storage/resource-storage.js';

export interface ProtobufItems {
  /** Under which entries keep their items. */
  readonly name: string;
  readonly itemOf: (entry: Entry) => Buffer;
}

/** Objects as items of a Protobuf list, encoded once per object version; lists and watches share them. */
export function protobufItems(codec: Codec, resource: ServedResource, transform: Transform | undefined): ProtobufItems {
  const name =
    transform === undefined
      ? `protobuf ${resource.apiVersion}`
      : `protobuf partial ${transform.group}/${transform.version}`;
  const make = (entry: Entry) => {
    const object = objectOf(resource, entry);
    return protobufItem(codec.protobufMessage(transform === undefined ? object : partialOf(object, transform)));
  };
  return { name, itemOf: (entry) => entry.encoded(name, make) };
}

/** An object's Protobuf message. */
export function protobufMessageOf({ itemOf }: ProtobufItems, entry: Entry): Buffer {
  return protobufItemMessage(itemOf(entry));
}
