/** Executes a plan for endpoint slices. */
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import type { SlicePlan } from '#controllers/endpointslice/plan.js';
import { isUnclear } from '#controllers/framework/errors.js';
import type { WrittenObjects } from '#controllers/framework/written-objects.js';

export interface SliceExecution {
  readonly client: Client;
  /** The reconciled key. */
  readonly key: string;
  readonly plan: SlicePlan;
  readonly written: WrittenObjects;
  readonly cache: Informer<EndpointSlice>;
}

/** Stops at the first failure; the next reconcile plans the rest again. */
export async function executeSlicePlan({ client, key, plan, written, cache }: SliceExecution): Promise<void> {
  const resource = client.resource(endpointslices);
  // Create before deleting, so that endpoints do not disappear in between.
  for (const slice of plan.creates) {
    try {
      written.wrote(key, cache, await resource.create(slice));
    } catch (error) {
      // The server generates the name, so a second create would add another slice.
      if (isUnclear(error)) written.unclear(key, cache, () => slicesLike(client, slice));
      throw error;
    }
  }
  for (const slice of plan.updates) written.wrote(key, cache, await resource.update(slice));
  for (const slice of plan.deletes) {
    const { name = '', namespace = '', uid = '' } = slice.metadata;
    try {
      await resource.delete(name, { namespace, preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    written.deleted(key, cache, slice);
  }
}

async function slicesLike(client: Client, { metadata: { namespace = '', labels = {} } }: EndpointSlice) {
  const labelSelector = Object.entries(labels)
    .map((pair) => pair.join('='))
    .join();
  return (await client.resource(endpointslices).list({ namespace, labelSelector })).items;
}
