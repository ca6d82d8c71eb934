/** Transforms for informers, applied before an object is stored. */

import type { OwnMetadata } from '#api/meta/object.js';
import type { ApiObject } from '#client/client.js';

/** Drops managedFields, which only server-side apply needs: often a third of an object. */
export function dropManagedFields<T extends ApiObject>(object: T & OwnMetadata): T {
  const { metadata }: OwnMetadata = object;
  delete metadata.managedFields;
  return object;
}
