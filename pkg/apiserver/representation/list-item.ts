/**
 * Objects as items of a list in JSON. As in 1.24, items of built-in kinds do not say their kind, which the list says for
 * all of them; those of other kinds do.
 */
import { jsonOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';

/** Begins an item whose bytes `itemRests` gives. */
export const itemStart = Buffer.from('{');

/** What an object's JSON is behind its opening brace, as an item: nearly always a part of bytes that are there anyway. */
export function itemRests(resource: ServedResource, isBuiltIn: boolean): (entry: Entry) => Buffer {
  if (!isBuiltIn) return (entry) => jsonOf(resource, entry).subarray(itemStart.length);
  const { apiVersion, declaration } = resource;
  const { kind } = declaration;
  const names = Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`);
  const make = (entry: Entry) => {
    const json = jsonOf(resource, entry);
    if (json.length > names.length && names.compare(json, 0, names.length) === 0) return json.subarray(names.length);
    return withoutNames(json).subarray(itemStart.length);
  };
  const name = `item:${apiVersion}`;
  // Each list looks at each object at least twice.
  return (entry) => entry.encoded(name, make);
}

/** Of objects that are laid out in another way: those of other servers, and views of what is stored. */
function withoutNames(json: Buffer): Buffer {
  const { kind: _, apiVersion: __, ...rest } = JSON.parse(json.toString()) as Record<string, unknown>;
  return Buffer.from(JSON.stringify(rest));
}
