/**
 * Cached objects are shared by all readers, and a new version of an object shares unchanged parts with the previous one, so they
 * must not be modified. Freezing them makes a request fail that tries to.
 */
import { deepFreeze } from '#apimachinery/freeze.js';
import { type Decode, decodeJson } from '#storage/cache/cache-entry.js';

/** Decodes like a cache does; objects, lists and shared parts are frozen. */
export function frozenDecoder(): Decode {
  return (json) => {
    const object = decodeJson(json);
    deepFreeze(object);
    return object;
  };
}
