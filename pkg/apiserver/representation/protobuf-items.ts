import { protobufItem, protobufItemMessage } from '#apimachinery/codec/protobuf/protobuf.js';
import type { Transform } from '#apiserver/http/content-negotiation.js';
import { partialOfEntry, viewName } from '#apiserver/representation/partial-metadata.js';
import type { Codec } from '#apiserver/resources/codec.js';
import { objectOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry, EntryBytes } from '#storage/resource-storage.js';

export interface ProtobufItems {
  /** The name under which entries cache their items. */
  readonly name: string;
  readonly itemOf: (entry: Entry) => EntryBytes;
  readonly make: (entry: Entry) => Buffer;
}

/** Objects as items of a Protobuf list, encoded once per object version and shared by lists and watches. */
export function protobufItems(codec: Codec, resource: ServedResource, transform: Transform | undefined): ProtobufItems {
  const name =
    transform === undefined ? `protobuf ${resource.apiVersion}` : `protobuf partial ${viewName(resource, transform)}`;
  if (transform === undefined) {
    const make = (entry: Entry) => protobufItem(codec.protobufMessage(objectOf(resource, entry)));
    return { name, make, itemOf: (entry) => entry.encodedBytes(name, make) };
  }
  const list = { apiVersion: `${transform.group}/${transform.version}`, kind: 'PartialObjectMetadataList' };
  const number = codec.itemsNumber(list);
  const make = (entry: Entry) =>
    protobufItem(codec.protobufMessage(partialOfEntry(resource, entry, transform)), number);
  return { name, make, itemOf: (entry) => entry.encodedBytes(name, make) };
}

/** An object's Protobuf message. */
export function protobufMessageOf({ name, make }: ProtobufItems, entry: Entry): Buffer {
  return protobufItemMessage(entry.encoded(name, make));
}
