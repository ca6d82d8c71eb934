/** Carries out a plan for endpoint slices. */
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { Lister } from '#client/informer/informer.js';
import type { SlicePlan } from '#controllers/endpointslice/plan.js';
import type { SliceTracker } from '#controllers/endpointslice/tracker.js';
import { keyOf } from '#controllers/framework/keys.js';

export interface SliceExecution {
  readonly client: Client;
  /** What the slices are of, for the tracker. */
  readonly key: string;
  readonly plan: SlicePlan;
  readonly tracker: SliceTracker;
  readonly cache: Lister<EndpointSlice>;
}

/** Stops at the first failure: what was written until then is tracked, the rest is planned anew. */
export async function executeSlicePlan({ client, key, plan, tracker, cache }: SliceExecution): Promise<void> {
  const resource = client.resource(endpointslices);
  // New endpoints come before old ones go, so that a service never has fewer than it must.
  for (const slice of plan.creates) tracker.wrote(key, await resource.create(slice));
  for (const slice of plan.updates) tracker.wrote(key, await resource.update(slice));
  for (const slice of plan.deletes) {
    const { name = '', namespace = '', uid = '' } = slice.metadata;
    try {
      await resource.delete(name, { namespace, preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    if (cache.get(keyOf(slice))?.metadata.uid === uid) tracker.deleted(key, slice);
  }
}
