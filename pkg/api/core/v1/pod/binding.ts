/** What binding does to a pod. */
import type { Binding, Pod, PodCondition } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { copyJson } from '#apimachinery/copy.js';
import { conflict, type StatusError } from '#apimachinery/errors/status.js';

/**
 * A copy of the pod that belongs to the binding's node from `now` (ms) on. Throws 409 when it has a node, is being
 * deleted, or is not the one that the binding means.
 */
export function boundPod(current: Pod, binding: Binding, now: number): Pod {
  const refusal = refusedBecause(current, binding.metadata ?? {});
  if (refusal !== undefined) throw notBound(current, refusal);
  const pod = copyJson(current) as Pod;
  pod.spec.nodeName = binding.target.name ?? '';
  const { annotations } = binding.metadata ?? {};
  if (annotations !== undefined) pod.metadata.annotations = { ...pod.metadata.annotations, ...annotations };
  const scheduled: PodCondition = { type: 'PodScheduled', status: 'True', lastTransitionTime: formatTime(now) };
  const others = (pod.status?.conditions ?? []).filter((condition) => condition.type !== 'PodScheduled');
  pod.status = { ...pod.status, conditions: [...others, scheduled] };
  return pod;
}

function refusedBecause({ metadata, spec }: Pod, wanted: NonNullable<Binding['metadata']>): string | undefined {
  const { uid = '', resourceVersion = '' } = wanted;
  const failed = (what: string, asked: string, found: string | undefined) =>
    `Precondition failed: ${what} in precondition: ${asked}, ${what} in object meta: ${found}`;
  if (uid !== '' && uid !== metadata.uid) return failed('UID', uid, metadata.uid);
  if (resourceVersion !== '' && resourceVersion !== metadata.resourceVersion) {
    return failed('ResourceVersion', resourceVersion, metadata.resourceVersion);
  }
  if (metadata.deletionTimestamp !== undefined) {
    return `pod ${metadata.name ?? ''} is being deleted, cannot be assigned to a host`;
  }
  const assigned = spec.nodeName ?? '';
  return assigned === '' ? undefined : `pod ${metadata.name ?? ''} is already assigned to node "${assigned}"`;
}

function notBound({ metadata }: Pod, why: string): StatusError {
  return conflict({ group: '', resource: 'pods/binding' }, metadata.name ?? '', why);
}
