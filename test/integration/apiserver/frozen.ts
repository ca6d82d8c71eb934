/**
 * What caches give out is shared by everybody, and each new version of an object shares what it can of the one before:
 * nobody may change it. Frozen, it tells who tries, and the request that did it fails.
 */
import { deepFreeze } from '#apimachinery/freeze.js';
import { type Decode, decodeJson } from '#storage/cache/cache-entry.js';

/** Parses like a cache by itself; objects, lists and what they share with others can only be read. */
export function frozenDecoder(): Decode {
  return (json) => {
    const object = decodeJson(json);
    deepFreeze(object);
    return object;
  };
}
