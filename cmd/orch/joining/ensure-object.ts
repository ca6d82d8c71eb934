/** Objects that a cluster has of itself. */
import { semanticEqual } from '#apimachinery/equality.js';
import { isAlreadyExists, isConflict } from '#apimachinery/errors/status.js';
import type { ApiObject, ResourceClient } from '#client/client.js';

/** Makes the object, or sets right what the one that is there says otherwise. */
export async function ensureObject<T extends ApiObject>(client: ResourceClient<T>, wanted: T): Promise<void> {
  const { name = '', namespace } = wanted.metadata;
  for (;;) {
    try {
      await client.create(wanted);
      return;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const found = await client.get(name, namespace === undefined ? {} : { namespace });
    const changed = { ...found, ...wanted, metadata: found.metadata };
    if (semanticEqual(found, changed)) return;
    try {
      await client.update(changed);
      return;
    } catch (error) {
      // Somebody else has changed it: looked at again.
      if (!isConflict(error)) throw error;
    }
  }
}
