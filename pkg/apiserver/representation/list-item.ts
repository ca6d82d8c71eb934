/**
 * Objects as items of a list in JSON. As in 1.24, items of built-in kinds do not say their kind, which the list says for
 * all of them; those of other kinds do.
 */
import { jsonBytesOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';
import { type Bytes, begins, behind, joined } from '#storage/segments/segmented.js';

/** Begins an item whose bytes `itemRests` gives. */
export const itemStart = Buffer.from('{');

/** What an object's JSON is behind its opening brace, as an item: nearly always a part of bytes that are there anyway. */
export function itemRests(resource: ServedResource, isBuiltIn: boolean): (entry: Entry) => Bytes {
  if (!isBuiltIn) return (entry) => behind(jsonBytesOf(resource, entry), itemStart.length);
  const { apiVersion, declaration } = resource;
  const { kind } = declaration;
  const names = Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`);
  const make = (entry: Entry) => withoutNames(joined(jsonBytesOf(resource, entry))).subarray(itemStart.length);
  const name = `item:${apiVersion}`;
  return (entry) => {
    const json = jsonBytesOf(resource, entry);
    return begins(json, names) ? behind(json, names.length) : entry.encodedBytes(name, make);
  };
}

/** Of objects that are laid out in another way: those of other servers, and views of what is stored. */
function withoutNames(json: Buffer): Buffer {
  const { kind: _, apiVersion: __, ...rest } = JSON.parse(json.toString()) as Record<string, unknown>;
  return Buffer.from(JSON.stringify(rest));
}
