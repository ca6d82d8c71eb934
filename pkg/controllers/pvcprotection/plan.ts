/** Whether a claim that is deleted may go. Pure. */
import { claimNameOf } from '#api/core/v1/pod/claims.js';
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import type { PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { controllerOf } from '#controllers/framework/owners.js';

/**
 * Whether one of the pods uses the claim. A pod that is bound to no node uses none: its node would not start it with a
 * claim that goes. One that has ended still does while it is there, as in 1.24.
 */
export function isClaimUsed(claim: PersistentVolumeClaim, pods: readonly Pod[]): boolean {
  return pods.some((pod) => usesClaim(pod, claim));
}

function usesClaim(pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (!isBound(pod) || pod.metadata.namespace !== claim.metadata.namespace) return false;
  return (pod.spec.volumes ?? []).some((volume) => {
    if (claimNameOf(pod.metadata.name ?? '', volume) !== claim.metadata.name) return false;
    return volume.ephemeral === undefined || (!isShutDown(pod) && isMadeFor(claim, pod));
  });
}

function isBound({ spec }: Pod): boolean {
  return (spec.nodeName ?? '') !== '';
}

/**
 * Whether its node has ended the pod, or it was deleted by force. It may be there still for finalizers that wait for
 * the very claim to go.
 */
function isShutDown({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0;
}

/** Whether the claim was made for an ephemeral volume of this pod, and does not just have its name. */
function isMadeFor(claim: PersistentVolumeClaim, pod: Pod): boolean {
  return controllerOf(claim)?.uid === pod.metadata.uid;
}

/** Whether such a pod may have let its claims go: one that works on a node holds them. */
export function mayRelease(pod: Pod): boolean {
  return !isBound(pod) || isShutDown(pod) || isPodTerminal(pod);
}
