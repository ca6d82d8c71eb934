/** How much a node still has for volumes that are its directories, as the scheduler reads it. Pure. */
import { createHash } from 'node:crypto';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node, PersistentVolume } from '#api/core/v1/types.gen.js';
import { localDirectoryProvisioner } from '#api/core/v1/volume/local-directory.js';
import type { CSIStorageCapacity, StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { value } from '#apimachinery/quantity.js';

export interface CapacityObservation {
  readonly dialect: Dialect;
  /** Absent: it is gone. */
  readonly node: Node | undefined;
  /** Those that are its directories. */
  readonly volumes: readonly PersistentVolume[];
  /** Classes of such volumes. */
  readonly classes: readonly StorageClass[];
}

/** The capacities of a node, one for each class; none of a node that is gone or has not said yet what it has. */
export function capacitiesOf({ dialect, node, volumes, classes }: CapacityObservation): CSIStorageCapacity[] {
  const hostname = node?.metadata.labels?.[dialect.labels.hostname];
  const room = node?.status?.allocatable?.['ephemeral-storage'];
  if (node === undefined || hostname === undefined || room === undefined) return [];
  const taken = volumes.reduce((sum, { spec }) => sum + value(spec.capacity?.['storage'] ?? '0'), 0);
  const capacity = String(Math.max(0, Math.floor(value(room) - taken)));
  const { name = '', uid = '' } = node.metadata;
  const owner = { apiVersion: dialect.apiVersion(nodes.group, nodes.version), kind: nodes.kind, name, uid };
  return classes.map(({ metadata: { name: storageClassName = '' } }) => ({
    metadata: {
      name: capacityName(name, storageClassName),
      namespace: dialect.namespaces.system,
      // They go with the node, whether or not a manager runs then.
      ownerReferences: [owner],
    },
    storageClassName,
    nodeTopology: { matchLabels: { [dialect.labels.hostname]: hostname } },
    capacity,
  }));
}

/** The name of the capacity object of a node and a class: both may be as long as names can be. */
function capacityName(node: string, storageClass: string): string {
  const hash = createHash('sha256').update(`${node}/${storageClass}`).digest('hex').slice(0, 16);
  return `local-${hash}`;
}

/** The node that the volume is a directory of; undefined for other volumes. */
export function nodeOfVolume({ metadata }: PersistentVolume, { annotations }: Dialect): string | undefined {
  return metadata.annotations?.[annotations.localVolumeNode];
}

/** The node that the capacity was made for by this controller; undefined for those of others. */
export function nodeOfCapacity({ metadata, storageClassName }: CSIStorageCapacity): string | undefined {
  const node = metadata.ownerReferences?.find(({ kind }) => kind === nodes.kind)?.name;
  return node !== undefined && metadata.name === capacityName(node, storageClassName) ? node : undefined;
}

export function isLocalClass({ provisioner }: StorageClass, dialect: Dialect): boolean {
  return provisioner === localDirectoryProvisioner(dialect);
}
