/** Objects that a cluster has of itself. */
import { semanticEqual } from '#apimachinery/equality.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { ApiObject, ResourceClient } from '#client/client.js';

/** Makes the object, or sets right what the one that is there says otherwise. */
export async function ensureObject<T extends ApiObject>(client: ResourceClient<T>, wanted: T): Promise<void> {
  const { name = '', namespace } = wanted.metadata;
  for (;;) {
    try {
      // All starts but the first find it.
      const found = await client.get(name, namespace === undefined ? {} : { namespace });
      const changed = { ...found, ...wanted, metadata: found.metadata };
      if (!semanticEqual(found, changed)) await client.update(changed);
      return;
    } catch (error) {
      // Somebody else has changed it: looked at again.
      if (isConflict(error)) continue;
      if (!isNotFound(error)) throw error;
    }
    try {
      await client.create(wanted);
      return;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
}
