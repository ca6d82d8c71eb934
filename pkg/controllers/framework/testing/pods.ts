/** Changes pods as nodes do, for tests. */

import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod, PodStatus } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import type { Harness } from '#controllers/framework/testing/harness.js';

export const isReady = (pod: Pod): boolean => pod.status?.conditions?.[0]?.status === 'True';
export const isTerminating = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined;
export const imageOf = (pod: Pod): string => pod.spec.containers[0]?.image ?? '';

const keyOf = (pod: Pod) => `${pod.metadata.namespace}/${pod.metadata.name}`;

export function setStatus({ api }: Harness, pod: Pod, status: PodStatus): void {
  api.change<Pod>(pods, keyOf(pod), (each) => {
    each.status = copyJson(status);
  });
}

export function makeReady(harness: Harness, pod: Pod): void {
  const lastTransitionTime = formatTime(harness.clock.now());
  setStatus(harness, pod, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] });
}

/** Removes a pod, as at the end of its deletion or when its node is gone. */
export function remove({ api }: Harness, pod: Pod): void {
  if (api.get(pods, keyOf(pod)) !== undefined) api.remove(pods, keyOf(pod));
}

/** Keeps deleted pods until `remove`, as a node does for their grace period. */
export function withGracePeriod({ api }: Harness): void {
  api.intercept((call) => {
    if (call.resource === 'pods' && call.verb === 'create') {
      const pod = call.body as Draft<Pod>;
      pod.metadata.finalizers = [...(pod.metadata.finalizers ?? []), 'test.io/node'];
    }
    return undefined;
  });
}
