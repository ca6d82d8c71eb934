/** Transforms that informers may apply before they store an object. */

import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import type { ApiObject } from '#client/client.js';

/** Drops managedFields, often a third of an object, which only server-side apply needs. */
export function dropManagedFields<T extends ApiObject>(object: Draft<T>): T {
  delete (object.metadata as Draft<ObjectMeta>).managedFields;
  return object as T;
}
