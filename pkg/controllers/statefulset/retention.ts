/** Who owns the claims of a stateful pod, by the set's retention policy: what owns a claim takes it along. Pure. */
import { statefulsets } from '#api/apps/v1/resources.gen.js';
import type { StatefulSet } from '#api/apps/v1/types.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { ordinalOf } from '#controllers/statefulset/identity.js';

/**
 * The claim with the owners that the policy asks for; the very same claim when it has them. `whenDeleted` makes the set
 * the owner, `whenScaled` the pod once its ordinal is no longer wanted.
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
  const wanted = withOwner(
    withOwner(old, referenceTo(dialect, statefulsets, set), bySet),
    referenceTo(dialect, pods, pod),
    byPod,
  );
  return wanted === old ? claim : { ...claim, metadata: { ...claim.metadata, ownerReferences: [...wanted] } };
}

/**
 * Whether the claim belongs to an earlier pod of the same name: it is about to be collected, and a pod that took it
 * would lose it.
 */
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

function withOwner(old: readonly OwnerReference[], owner: OwnerReference, wanted: boolean): readonly OwnerReference[] {
  if (old.some(({ uid }) => uid === owner.uid) === wanted) return old;
  return wanted ? [...old, owner] : old.filter(({ uid }) => uid !== owner.uid);
}
