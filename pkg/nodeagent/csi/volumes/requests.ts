/** What a driver is told about a volume and its pod. Rules of 1.24. Pure. */
import type { PersistentVolume, Pod, SecretReference } from '#api/core/v1/types.gen.js';
import type { CSIDriver } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { attachmentName, inlineHandle } from '#nodeagent/csi/volumes/paths.js';
import type { VolumeData } from '#nodeagent/csi/volumes/volume-data.js';
import type { VolumeToMount } from '#nodeagent/volumes/volume-to-mount.js';

export type LifecycleMode = 'Persistent' | 'Ephemeral';

/** A CSI volume that a pod uses. */
export interface CSIVolume {
  readonly driver: string;
  readonly handle: string;
  readonly lifecycle: LifecycleMode;
  /** The persistent volume's name, or the volume's name in the pod. */
  readonly specName: string;
  readonly isBlock: boolean;
  /** Neither the pod's containers nor the driver may write. */
  readonly readOnly: boolean;
  readonly fsType: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly accessMode: string;
  readonly mountOptions: readonly string[];
  readonly publishSecret?: SecretReference;
  readonly stageSecret?: SecretReference;
  readonly persistent?: PersistentVolume;
}

/** Undefined for volumes without a driver. `isBlock`: containers get the device. */
export function csiVolumeOf(pod: Pod, target: VolumeToMount): CSIVolume | undefined {
  const { persistent, specName, isBlock, mountReadOnly: readOnly } = target;
  if (persistent !== undefined) {
    const { csi, accessModes = [], mountOptions = [] } = persistent.spec;
    if (csi === undefined) return undefined;
    return {
      ...{ driver: csi.driver, handle: csi.volumeHandle, lifecycle: 'Persistent', specName, isBlock, persistent },
      readOnly,
      fsType: csi.fsType ?? '',
      attributes: csi.volumeAttributes ?? {},
      accessMode: accessModes[0] ?? 'ReadWriteOnce',
      mountOptions,
      ...(csi.nodePublishSecretRef && { publishSecret: csi.nodePublishSecretRef }),
      ...(csi.nodeStageSecretRef && { stageSecret: csi.nodeStageSecretRef }),
    };
  }
  const csi = (pod.spec.volumes ?? []).find(({ name }) => name === target.volume)?.csi;
  if (csi === undefined) return undefined;
  const { uid = '', namespace = '' } = pod.metadata;
  const { name: secret = '' } = csi.nodePublishSecretRef ?? {};
  return {
    ...{ driver: csi.driver, handle: inlineHandle(uid, specName), lifecycle: 'Ephemeral', specName, isBlock: false },
    readOnly: csi.readOnly === true,
    fsType: csi.fsType ?? '',
    attributes: csi.volumeAttributes ?? {},
    accessMode: 'ReadWriteOnce',
    mountOptions: [],
    ...(csi.nodePublishSecretRef && { publishSecret: { name: secret, namespace } }),
  };
}

/** The data file of a published volume. `node`: the node's name. */
export function publishedData(volume: CSIVolume, node: string): VolumeData {
  const { driver, handle, specName, lifecycle, isBlock } = volume;
  return {
    attachmentID: attachmentName(handle, driver, node),
    driverName: driver,
    nodeName: node,
    specVolID: specName,
    volumeHandle: handle,
    ...(isBlock ? {} : { volumeLifecycleMode: lifecycle }),
  };
}

/** Throws Error unless the driver offers volumes of that kind. */
export function checkLifecycle({ driver, lifecycle }: CSIVolume, object: CSIDriver | undefined): void {
  if (object === undefined) {
    if (lifecycle === 'Persistent') return;
    throw new Error(`volume mode "${lifecycle}" not supported by driver ${driver} (no CSIDriver object)`);
  }
  const modes = object.spec.volumeLifecycleModes ?? [];
  if (modes.includes(lifecycle)) return;
  const list = modes.map((mode) => `"${mode}"`).join(' ');
  throw new Error(`volume mode "${lifecycle}" not supported by driver ${driver} (only supports [${list}])`);
}

/** Members of the volume context about the pod, if the driver's object requests them. */
export function podAttributes(
  { metadata, spec }: Pod,
  { lifecycle }: Pick<CSIVolume, 'lifecycle'>,
  { object, dialect }: { readonly object: CSIDriver | undefined; readonly dialect: Dialect },
): Record<string, string> {
  if (object?.spec.podInfoOnMount !== true) return {};
  const prefix = volumeContextPrefix(dialect);
  return {
    [`${prefix}/pod.name`]: metadata.name ?? '',
    [`${prefix}/pod.namespace`]: metadata.namespace ?? '',
    [`${prefix}/pod.uid`]: metadata.uid ?? '',
    [`${prefix}/serviceAccount.name`]: spec.serviceAccountName ?? '',
    [`${prefix}/ephemeral`]: String(lifecycle === 'Ephemeral'),
  };
}

/** Prefix of the names in volume contexts that the agent adds. */
export function volumeContextPrefix(dialect: Dialect): string {
  return `csi.${dialect.groupName('storage')}`;
}

/** Whether the agent gives the volume's files to the pod's group. `policy`: of the driver's object. */
export function appliesGroup(
  { readOnly, fsType, persistent }: CSIVolume,
  policy: string = 'ReadWriteOnceWithFSType',
): boolean {
  if (policy === 'None' || readOnly) return false;
  if (policy === 'File') return true;
  if (fsType === '') return false;
  // Volumes inside of pods count as ReadWriteOnce.
  return persistent === undefined || (persistent.spec.accessModes ?? []).includes('ReadWriteOnce');
}
