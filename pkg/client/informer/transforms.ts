/** Transforms that informers may apply before they store an object. */

import type { OwnMetadata } from '#api/meta/object.js';
import type { ApiObject } from '#client/client.js';

/** Drops managedFields, often a third of an object, which only server-side apply needs. */
export function dropManagedFields<T extends ApiObject>(object: T & OwnMetadata): T {
  const { metadata }: OwnMetadata = object;
  delete metadata.managedFields;
  return object;
}
