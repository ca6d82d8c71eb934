/** Limits the cloud disks per node, for disks not counted by a CSI driver; rules of release 1.24. */
import { claimNamesOf } from '#api/core/v1/pod/claims.js';
import type { PersistentVolumeSpec, Pod, Volume } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { StorageObjects } from '#scheduler/cluster/objects.js';
import type { NodeFilter, Plugin, Rejection } from '#scheduler/framework/plugin.js';
import { CsiMigration } from '#scheduler/plugins/csi-migration/csi-migration.js';

const tooMany: Rejection = { reasons: ['node(s) exceed max volume count'] };

/** Fields that pod volumes and persistent volumes share. */
type Source = Pick<
  Volume & PersistentVolumeSpec,
  'awsElasticBlockStore' | 'gcePersistentDisk' | 'azureDisk' | 'cinder'
>;

interface DiskKind {
  readonly plugin: string;
  /** Part of the provisioner's and the node resource's name. */
  readonly name: string;
  /** The disk's ID; undefined for volumes of other kinds. */
  readonly idOf: (source: Source) => string | undefined;
  /** Limit for nodes that do not report one. */
  readonly limit: (instanceType: string) => number;
}

export const diskKinds = {
  ebs: {
    plugin: 'EBSLimits',
    name: 'aws-ebs',
    idOf: ({ awsElasticBlockStore }) => awsElasticBlockStore?.volumeID,
    // Newer instance types attach fewer disks.
    limit: (instanceType) => (/^[cmr]5|t3|z1d/.test(instanceType) ? 25 : 39),
  },
  gce: {
    plugin: 'GCEPDLimits',
    name: 'gce-pd',
    idOf: ({ gcePersistentDisk }) => gcePersistentDisk?.pdName,
    limit: () => 16,
  },
  azure: {
    plugin: 'AzureDiskLimits',
    name: 'azure-disk',
    idOf: ({ azureDisk }) => azureDisk?.diskName,
    limit: () => 16,
  },
  cinder: { plugin: 'CinderLimits', name: 'cinder', idOf: ({ cinder }) => cinder?.volumeID, limit: () => 256 },
} as const satisfies Readonly<Record<string, DiskKind>>;

type Environment = Readonly<Record<string, string | undefined>>;

/** The variable that limits the disks of all kinds on nodes that do not report a limit. */
const variableOf = ({ shortName }: Dialect): string => `${shortName.toUpperCase()}_MAX_PD_VOLS`;

/** Undefined if the variable is unset or invalid. */
export function maxDisksOf(env: Environment, dialect: Dialect): number | undefined {
  const text = env[variableOf(dialect)] ?? '';
  return /^0*[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}

/** The warning about an invalid value of the variable; undefined: none. */
export function maxDisksWarning(env: Environment, dialect: Dialect): string | undefined {
  const name = variableOf(dialect);
  const text = env[name] ?? '';
  if (text === '' || maxDisksOf(env, dialect) !== undefined) return undefined;
  return `Variable ${name} has no effect: ${JSON.stringify(text)} is not a positive number`;
}

/** `max`: limit for nodes that do not report one; absent: depends on the kind. */
export function diskLimits(
  kind: DiskKind,
  dialect: Dialect,
  max: number | undefined,
  migration = new CsiMigration(dialect),
): Plugin {
  return {
    name: kind.plugin,
    events: ['NodeAdd', 'AssignedPodDelete', 'PvcAdd', 'PvcUpdate', 'CSINodeAdd', 'CSINodeUpdate'],
    filter: {
      local: false,
      prepare({ pod }, { objects: { storage } }) {
        const inline = (pod.spec.volumes ?? []).some((volume) => kind.idOf(volume) !== undefined);
        if (!inline && claimNamesOf(pod).length === 0) return undefined;
        return new DiskFilter({ kind, pod, storage, dialect, max, migration });
      },
    },
  };
}

interface DiskFilterOptions {
  readonly kind: DiskKind;
  readonly pod: Pod;
  readonly storage: StorageObjects;
  readonly dialect: Dialect;
  readonly max: number | undefined;
  readonly migration: CsiMigration;
}

class DiskFilter implements NodeFilter {
  readonly #question: DiskFilterOptions;
  #podDisks: ReadonlySet<string> = new Set();

  constructor(question: DiskFilterOptions) {
    this.#question = question;
  }

  begin(): undefined {
    this.#podDisks = this.#disksOf(this.#question.pod);
  }

  filter(node: NodeInfo): Rejection | undefined {
    if (this.#podDisks.size === 0 || this.#isMigrated(node)) return undefined;
    const attached = new Set<string>();
    for (const { pod } of node.pods.values()) for (const disk of this.#disksOf(pod)) attached.add(disk);
    let count = attached.size;
    for (const disk of this.#podDisks) if (!attached.has(disk)) count++;
    return count > this.#limitOf(node) ? tooMany : undefined;
  }

  /** Whether a CSI driver counts these disks on the node. */
  #isMigrated({ name }: NodeInfo): boolean {
    const { dialect, kind, migration, storage } = this.#question;
    return migration.isOn(storage.csiNode(name), `${dialect.labelDomain}/${kind.name}`);
  }

  #limitOf({ allocatable, labels }: NodeInfo): number {
    const { dialect, kind, max } = this.#question;
    const nodeLimit = allocatable.scalars?.get(`attachable-volumes-${kind.name}`);
    const { betaInstanceType, instanceType } = dialect.labels;
    return nodeLimit ?? max ?? kind.limit(labels[instanceType] ?? labels[betaInstanceType] ?? '');
  }

  /** A claim without a volume counts as a separate disk if its provisioner creates disks of this kind. */
  #disksOf(pod: Pod): Set<string> {
    const { dialect, kind, storage } = this.#question;
    const disks = new Set<string>();
    for (const volume of pod.spec.volumes ?? []) {
      const id = kind.idOf(volume);
      if (id !== undefined) disks.add(id);
    }
    for (const name of claimNamesOf(pod)) {
      const key = keyFor(pod.metadata.namespace, name);
      const claim = storage.claim(key);
      if (claim === undefined) continue;
      const volume = storage.volume(claim.spec.volumeName ?? '');
      if (volume !== undefined) {
        const id = kind.idOf(volume.spec);
        if (id !== undefined) disks.add(id);
        continue;
      }
      const provisioner = storage.storageClass(storageClassOf(claim, dialect))?.provisioner;
      if (provisioner === `${dialect.labelDomain}/${kind.name}`) disks.add(`claim ${key}`);
    }
    return disks;
  }
}
