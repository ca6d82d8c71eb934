/** The claims that a pod's ephemeral volumes lack. Pure. */
import { claimNameOf } from '#api/core/v1/pod/claims.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, Pod, Volume } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { controllerOf, controllerReference } from '#controllers/framework/owners.js';

export interface EphemeralClaim {
  readonly volume: string;
  readonly name: string;
  /** The claim to make; absent where there is one of the name. */
  readonly claim?: PersistentVolumeClaim;
  /** Why the one that is there cannot be used. */
  readonly conflict?: string;
}

export function hasEphemeralVolumes({ spec }: Pod): boolean {
  return spec.volumes?.some((volume) => volume.ephemeral !== undefined) ?? false;
}

/** In the order of the volumes; without those that are in order. `find`: the claim of that name in the pod's namespace. */
export function missingClaims(
  pod: Pod,
  find: (name: string) => PersistentVolumeClaim | undefined,
  dialect: Dialect,
): EphemeralClaim[] {
  if (pod.metadata.deletionTimestamp !== undefined) return [];
  return (pod.spec.volumes ?? []).flatMap((volume): EphemeralClaim[] => {
    const name = claimNameOf(pod.metadata.name ?? '', volume);
    if (volume.ephemeral === undefined || name === undefined) return [];
    const there = find(name);
    if (there === undefined) return [{ volume: volume.name, name, claim: claimFor(pod, volume, name, dialect) }];
    if (controllerOf(there)?.uid === pod.metadata.uid) return [];
    const { namespace, name: podName } = pod.metadata;
    const conflict = `PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`;
    return [{ volume: volume.name, name, conflict }];
  });
}

function claimFor(pod: Pod, { ephemeral }: Volume, name: string, dialect: Dialect): PersistentVolumeClaim {
  const { metadata: { annotations, labels } = {}, spec = {} } = ephemeral?.volumeClaimTemplate ?? {};
  return {
    metadata: {
      name,
      namespace: pod.metadata.namespace ?? '',
      ownerReferences: [controllerReference(dialect, pods, pod)],
      ...(annotations === undefined ? {} : { annotations }),
      ...(labels === undefined ? {} : { labels }),
    },
    spec,
  };
}
