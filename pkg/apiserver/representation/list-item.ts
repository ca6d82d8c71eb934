/**
 * Objects as items of a list in JSON. As in 1.24, items of built-in kinds do not say their kind, which the list says for
 * all of them; those of other kinds do.
 */
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { jsonBytesOf, jsonOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry, EntryBytes } from '#storage/resource-storage.js';

/** Begins an item behind what its bytes begin with. */
const itemStart = Buffer.from('{');

export interface ListItems {
  /** Bytes at the beginning of each object that are not in its item: the opening brace, and names that the list says. */
  readonly skipped: number;
  /** An object's JSON, with those bytes: nearly always what is there anyway. */
  readonly bytesOf: (entry: Entry) => EntryBytes;
}

export function jsonItems(resource: ServedResource, isBuiltIn: boolean): ListItems {
  if (!isBuiltIn) return { skipped: itemStart.length, bytesOf: (entry) => jsonBytesOf(resource, entry) };
  const { apiVersion, declaration } = resource;
  const { kind } = declaration;
  const names = Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`);
  const make = (entry: Entry) => withNamesFirst(jsonOf(resource, entry), names);
  const name = `item:${apiVersion}`;
  const beginning = Buffer.alloc(names.length);
  return {
    skipped: names.length,
    bytesOf: (entry) => {
      const json = jsonBytesOf(resource, entry);
      return json.copy(beginning, 0) === names.length && beginning.equals(names)
        ? json
        : entry.encodedBytes(name, make);
    },
  };
}

/** An item as one document. */
export function itemOf(bytes: EntryBytes, skipped: number): Buffer {
  const item = Buffer.allocUnsafe(itemStart.length + bytes.length - skipped);
  item.set(itemStart);
  bytes.copy(item, itemStart.length, skipped);
  return item;
}

/** Of objects that are laid out in another way: those of other servers, and views of what is stored. */
function withNamesFirst(json: Buffer, names: Buffer): Buffer {
  const { kind: _, apiVersion: __, ...rest } = parseJSONText(json.toString()) as Record<string, unknown>;
  return Buffer.concat([names, Buffer.from(toJSONText(rest)).subarray(itemStart.length)]);
}
