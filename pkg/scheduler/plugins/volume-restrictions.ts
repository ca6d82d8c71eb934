import type { Pod, Volume } from '#api/core/v1/types.gen.js';
import { keyFor } from '#apimachinery/object-key.js';
import { sharedClaimNames } from '#scheduler/cluster/claim-index.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Plugin, Rejection } from '#scheduler/framework/plugin.js';

const conflict: Rejection = { reasons: ['node(s) had no available disk'] };
const claimInUse: Rejection = {
  reasons: ['node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'],
  unresolvable: true,
};
const noClaim = (name: string): Rejection => ({
  reasons: [`persistentvolumeclaim ${JSON.stringify(name)} not found`],
  unresolvable: true,
});

/**
 * Only one pod per node may mount a disk directly, unless disks of its kind can be shared and all mount it read-only.
 * `singlePods`: enforce ReadWriteOncePod, which allows one pod in the cluster per claim.
 */
export function volumeRestrictions({ singlePods }: { readonly singlePods: boolean }): Plugin {
  return {
    name: 'VolumeRestrictions',
    events: ['NodeAdd', 'AssignedPodDelete', 'PvcAdd', 'PvcUpdate'],
    filter: {
      local: true,
      prepare({ pod }, cluster) {
        const disks = disksOf(pod);
        const claims = singlePods ? sharedClaimNames(pod) : [];
        if (disks.length === 0 && claims.length === 0) return undefined;
        return {
          begin: () => (claims.length === 0 ? undefined : claimRejection(claims, pod, cluster)),
          filter({ pods }) {
            if (disks.length === 0) return undefined;
            for (const { pod: other } of pods.values()) {
              if (anyClash(disks, disksOf(other))) return conflict;
            }
            return undefined;
          },
        };
      },
    },
  };
}

function claimRejection(claims: readonly string[], pod: Pod, cluster: Cluster): Rejection | undefined {
  const { storage } = cluster.objects;
  const missing = claims.find((name) => storage.claim(keyFor(pod.metadata.namespace, name)) === undefined);
  if (missing !== undefined) return noClaim(missing);
  return claimHolder(pod, cluster) === undefined ? undefined : claimInUse;
}

/** Another pod that already uses one of the pod's single-pod claims. */
export function claimHolder(
  pod: Pod,
  cluster: Cluster,
): { readonly pod: PodInfo; readonly node: string; readonly claim: string } | undefined {
  const { storage } = cluster.objects;
  const { namespace } = pod.metadata;
  for (const claim of sharedClaimNames(pod)) {
    const modes = storage.claim(keyFor(namespace, claim))?.spec.accessModes;
    if (modes?.includes('ReadWriteOncePod') !== true) continue;
    for (const holder of cluster.placedWithClaim(namespace, claim)) return { ...holder, claim };
  }
  return undefined;
}

/** Whether a disk that both pods mount keeps them from sharing a node. */
export const shareDisk = (a: Pod, b: Pod): boolean => anyClash(disksOf(a), disksOf(b));

interface Disk {
  /** Identifiers of the disk; disks with a common one are the same. */
  readonly keys: readonly string[];
  /** Whether pods can share it as long as all mount it read-only. */
  readonly shared: boolean;
}

const disksOf = ({ spec }: Pod): Disk[] => (spec.volumes ?? []).flatMap((volume) => diskOf(volume) ?? []);

const anyClash = (own: readonly Disk[], theirs: readonly Disk[]): boolean =>
  theirs.some((other) => own.some((disk) => clash(disk, other)));

const clash = (a: Disk, b: Disk): boolean => !(a.shared && b.shared) && a.keys.some((key) => b.keys.includes(key));

function diskOf({ awsElasticBlockStore, gcePersistentDisk, iscsi, rbd }: Volume): Disk | undefined {
  if (gcePersistentDisk !== undefined) {
    return { keys: [`gce ${gcePersistentDisk.pdName}`], shared: gcePersistentDisk.readOnly === true };
  }
  if (awsElasticBlockStore !== undefined) return { keys: [`aws ${awsElasticBlockStore.volumeID}`], shared: false };
  if (iscsi !== undefined) return { keys: [`iscsi ${iscsi.iqn}`], shared: iscsi.readOnly === true };
  if (rbd === undefined) return undefined;
  const image = `${rbd.pool ?? 'rbd'}/${rbd.image}`;
  return { keys: rbd.monitors.map((monitor) => `rbd ${monitor} ${image}`), shared: rbd.readOnly === true };
}
