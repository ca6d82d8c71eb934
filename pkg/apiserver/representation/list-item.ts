/**
 * Objects as items of a list in JSON. As in 1.24, items of built-in kinds do not say their kind, which the list says for
 * all of them; those of other kinds do.
 */
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { jsonBytesOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';
import { type Bytes, begins, joined } from '#storage/segments/segmented.js';

/** Begins an item behind what its bytes begin with. */
export const itemStart = Buffer.from('{');

export interface ListItems {
  /** Bytes at the beginning of each object that are not in its item: the opening brace, and names that the list says. */
  readonly skipped: number;
  /** An object's JSON, with those bytes: nearly always what is there anyway. */
  readonly bytesOf: (entry: Entry) => Bytes;
}

export function jsonItems(resource: ServedResource, isBuiltIn: boolean): ListItems {
  if (!isBuiltIn) return { skipped: itemStart.length, bytesOf: (entry) => jsonBytesOf(resource, entry) };
  const { apiVersion, declaration } = resource;
  const { kind } = declaration;
  const names = Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`);
  const make = (entry: Entry) => withNamesFirst(joined(jsonBytesOf(resource, entry)), names);
  const name = `item:${apiVersion}`;
  return {
    skipped: names.length,
    bytesOf: (entry) => {
      const json = jsonBytesOf(resource, entry);
      return begins(json, names) ? json : entry.encodedBytes(name, make);
    },
  };
}

/** Of objects that are laid out in another way: those of other servers, and views of what is stored. */
function withNamesFirst(json: Buffer, names: Buffer): Buffer {
  const { kind: _, apiVersion: __, ...rest } = parseJSONText(json.toString()) as Record<string, unknown>;
  return Buffer.concat([names, Buffer.from(toJSONText(rest)).subarray(itemStart.length)]);
}
