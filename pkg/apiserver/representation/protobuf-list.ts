/** A Protobuf list, put together from its items' bytes, each encoded once per object version. */
import { objectOf, type ServedResource } from '#apiserver/registry/served-resource.js';
import type { Codec } from '#apiserver/representation/codec.js';
import { lengthDelimited, varint } from '#apiserver/representation/protobuf-wire.js';
import type { Entry } from '#storage/resource-storage.js';

/** `Unknown.raw`. */
const rawField = 2;
/** `items` of every list. */
const itemsField = 2;

/** Prefix, envelope, list metadata and items. */
export function protobufListParts(
  codec: Codec,
  resource: ServedResource,
  entries: readonly Entry[],
  list: { readonly kind: string; readonly metadata: object },
): Buffer[] {
  const empty = codec.encodeProtobufParts({
    apiVersion: resource.apiVersion,
    kind: list.kind,
    metadata: list.metadata,
    items: [],
  });
  const items: Buffer[] = [];
  let size = empty.message.length;
  for (const entry of entries) {
    const message = entry.encoded(`protobuf:${resource.apiVersion}`, () => {
      const { message: bytes } = codec.encodeProtobufParts(objectOf(resource, entry));
      return lengthDelimited(itemsField, bytes);
    });
    items.push(message);
    size += message.length;
  }
  const head = [empty.prefix, empty.typeMeta, Buffer.from([(rawField << 3) | 2]), varint(size), empty.message];
  // The envelope's remaining fields (contentEncoding, contentType) are empty and written as such, as 1.24 does.
  return [Buffer.concat(head), ...items, empty.rest];
}
