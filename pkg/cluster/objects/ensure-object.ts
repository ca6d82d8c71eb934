/** Creates objects that every cluster has. */
import { semanticEqual } from '#apimachinery/equality.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { ApiObject, ResourceClient } from '#client/client.js';

/** Creates the object, or updates the fields of the existing one that differ. */
export async function ensureObject<T extends ApiObject>(client: ResourceClient<T>, desired: T): Promise<void> {
  const { name = '', namespace } = desired.metadata;
  for (;;) {
    try {
      // It exists at every start but the first.
      const existing = await client.get(name, namespace === undefined ? {} : { namespace });
      const changed = { ...existing, ...desired, metadata: existing.metadata };
      if (!semanticEqual(existing, changed)) await client.update(changed);
      return;
    } catch (error) {
      if (isConflict(error)) continue;
      if (!isNotFound(error)) throw error;
    }
    if (await createIfAbsent(client, desired)) return;
  }
}

/** False when the object exists. */
export async function createIfAbsent<T extends ApiObject>(client: ResourceClient<T>, object: T): Promise<boolean> {
  try {
    await client.create(object);
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}
