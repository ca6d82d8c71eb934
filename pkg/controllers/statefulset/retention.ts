/** Owners of a stateful pod's claims by the set's retention policy. A claim is deleted with its owner. Pure. */
import { statefulsets } from '#api/apps/v1/resources.gen.js';
import type { StatefulSet } from '#api/apps/v1/types.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { ordinalOf } from '#controllers/statefulset/identity.js';

/**
 * Sets the claim's owners; returns the same object when unchanged. With `whenDeleted` the set is the owner, with
 * `whenScaled` the pod, once its ordinal is no longer desired.
 */
export function withOwners(
  dialect: Dialect,
  set: StatefulSet,
  pod: Pod,
  claim: PersistentVolumeClaim,
): PersistentVolumeClaim {
  const policy = set.spec.persistentVolumeClaimRetentionPolicy;
  const byPod = policy?.whenScaled === 'Delete' && (ordinalOf(set, pod) ?? 0) >= (set.spec.replicas ?? 1);
  const bySet = policy?.whenDeleted === 'Delete' && !byPod;
  const old = claim.metadata.ownerReferences ?? [];
  const owners = withOwner(
    withOwner(old, referenceTo(dialect, statefulsets, set), bySet),
    referenceTo(dialect, pods, pod),
    byPod,
  );
  return owners === old ? claim : { ...claim, metadata: { ...claim.metadata, ownerReferences: [...owners] } };
}

/** Whether the claim belongs to an earlier pod with the same name and will be deleted with it. */
export function isStaleClaim(set: StatefulSet, pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (set.spec.persistentVolumeClaimRetentionPolicy?.whenScaled !== 'Delete') return false;
  const { name, uid } = pod.metadata;
  return claim.metadata.ownerReferences?.some((owner) => owner.name === name && owner.uid !== uid) ?? false;
}

function referenceTo(
  dialect: Dialect,
  type: typeof pods | typeof statefulsets,
  { metadata: { name = '', uid = '' } }: Pod | StatefulSet,
): OwnerReference {
  return { apiVersion: dialect.apiVersion(type.group, type.version), kind: type.kind, name, uid };
}

function withOwner(old: readonly OwnerReference[], owner: OwnerReference, owns: boolean): readonly OwnerReference[] {
  if (old.some(({ uid }) => uid === owner.uid) === owns) return old;
  return owns ? [...old, owner] : old.filter(({ uid }) => uid !== owner.uid);
}
