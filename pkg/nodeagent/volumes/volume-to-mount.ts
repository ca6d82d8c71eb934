/** Resolves the volumes of a pod: their own source, or that of the persistent volume behind their claim. */

import { claimNameOf } from '#api/core/v1/pod/claims.js';
import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type {
  Container,
  CSIPersistentVolumeSource,
  CSIVolumeSource,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeSource,
  Pod,
  Volume,
  VolumeSource,
} from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Client } from '#client/client.js';
import { VolumeError } from '#nodeagent/volumes/volume-error.js';

type InPods = 'hostPath' | 'nfs' | 'emptyDir' | 'configMap' | 'secret' | 'projected' | 'downwardAPI';

/** The source in a pod or a persistent volume. At most one of these members is set; unsupported types have others. */
export interface MountSource extends Pick<VolumeSource, InPods>, Pick<PersistentVolumeSource, 'local'> {
  csi?: CSIVolumeSource | CSIPersistentVolumeSource;
}

export interface VolumeToMount {
  /** The pod's volume name. */
  readonly volume: string;
  /** The name in messages and directories: that of the persistent volume, if any. */
  readonly specName: string;
  readonly source: MountSource;
  /** Read-only in every container. */
  readonly readOnly: boolean;
  /** The mount itself is read-only: all of the pod's volumes with this claim are. */
  readonly mountReadOnly: boolean;
  /** Containers get the device, not a file system. */
  readonly isBlock: boolean;
  readonly persistent?: PersistentVolume;
}

/** How the pod's containers use its volumes. Unused volumes are ignored, as in 1.24. */
export interface UsedVolumes {
  readonly mounted: ReadonlySet<string>;
  readonly asDevices: ReadonlySet<string>;
}

export function usedVolumes({ spec }: Pod): UsedVolumes {
  const containers: Pick<Container, 'volumeMounts' | 'volumeDevices'>[] = [
    ...(spec.initContainers ?? []),
    ...spec.containers,
    ...(spec.ephemeralContainers ?? []),
  ];
  const names = (list: 'volumeMounts' | 'volumeDevices') =>
    new Set(containers.flatMap((container) => (container[list] ?? []).map(({ name }) => name)));
  return { mounted: names('volumeMounts'), asDevices: names('volumeDevices') };
}

/**
 * Resolves a volume. `client`: absent without an API. Throws VolumeError if its claim is missing, unbound, owned by
 * another pod, or has another mode than its use.
 */
export async function volumeToMount(
  pod: Pod,
  volume: Volume,
  { used, client }: { readonly used: UsedVolumes; readonly client: Client | undefined },
): Promise<VolumeToMount> {
  const claimName = claimNameOf(pod.metadata.name ?? '', volume);
  if (claimName === undefined) {
    const readOnly = isReadOnly(volume);
    const { name } = volume;
    return { volume: name, specName: name, source: volume, readOnly, mountReadOnly: readOnly, isBlock: false };
  }
  const persistent = await boundVolume(pod, volume, { claimName, client });
  const mode = persistent.spec?.volumeMode ?? 'Filesystem';
  for (const [users, fits, field] of [
    [used.mounted, mode === 'Filesystem', 'volumeMounts'],
    [used.asDevices, mode === 'Block', 'volumeDevices'],
  ] as const) {
    if (users.has(volume.name) && !fits)
      throw unknown(`volume ${volume.name} has volumeMode ${mode}, but is specified in ${field}`);
  }
  return {
    volume: volume.name,
    specName: persistent.metadata.name ?? '',
    source: persistent.spec ?? {},
    readOnly: volume.persistentVolumeClaim?.readOnly === true,
    mountReadOnly: (pod.spec.volumes ?? [])
      .filter((each) => claimNameOf(pod.metadata.name ?? '', each) === claimName)
      .every((each) => each.persistentVolumeClaim?.readOnly === true),
    isBlock: mode === 'Block',
    persistent,
  };
}

function unknown(message: string, cause?: unknown): VolumeError {
  return new VolumeError(message, { stage: 'unknown', cause });
}

/** Volumes that the agent writes are always read-only. */
function isReadOnly({ configMap, secret, downwardAPI, projected, nfs, csi }: Volume): boolean {
  if ([configMap, secret, downwardAPI, projected].some((source) => source !== undefined)) return true;
  return nfs?.readOnly === true || csi?.readOnly === true;
}

async function boundVolume(
  pod: Pod,
  volume: Volume,
  { claimName, client }: { readonly claimName: string; readonly client: Client | undefined },
): Promise<PersistentVolume> {
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  const failed = (why: string, cause?: unknown) =>
    unknown(`error processing PVC ${namespace}/${claimName}: ${why}`, cause);
  if (client === undefined) throw failed('no client of the API is configured');
  let claim: PersistentVolumeClaim;
  try {
    claim = await client.resource(persistentvolumeclaims).get(claimName, { namespace });
  } catch (error) {
    throw failed(`failed to fetch PVC from API server: ${messageOf(error)}`, error);
  }
  if (claim.metadata.deletionTimestamp !== undefined) throw failed('PVC is being deleted');
  if (claim.status?.phase !== 'Bound') throw failed('PVC is not bound');
  const volumeName = claim.spec?.volumeName ?? '';
  if (volumeName === '') throw failed('PVC has empty pvc.Spec.VolumeName');
  const owner = claim.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (volume.ephemeral !== undefined && owner?.uid !== uid) {
    throw unknown(`PVC ${namespace}/${claimName} was not created for pod ${namespace}/${name} (pod is not owner)`);
  }
  let persistent: PersistentVolume;
  try {
    persistent = await client.resource(persistentvolumes).get(volumeName);
  } catch (error) {
    throw failed(`failed to fetch PV ${volumeName} from API server: ${messageOf(error)}`, error);
  }
  const { claimRef } = persistent.spec ?? {};
  if (claimRef === undefined) {
    throw failed(
      `found PV object ${volumeName} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
    );
  }
  if (claimRef.uid !== claim.metadata.uid) {
    throw failed(
      `found PV object ${volumeName} but its pv.Spec.ClaimRef.UID ${claimRef.uid ?? ''} does not point to claim.UID ${claim.metadata.uid ?? ''}`,
    );
  }
  return persistent;
}
