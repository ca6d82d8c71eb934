/** How many disks of a cloud a node can have, for those that no CSI driver counts. Rules of release 1.24. */
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

/** What volumes of pods and persistent volumes have in common. */
type Source = Pick<
  Volume & PersistentVolumeSpec,
  'awsElasticBlockStore' | 'gcePersistentDisk' | 'azureDisk' | 'cinder'
>;

interface DiskKind {
  readonly plugin: string;
  /** As provisioners and the resource of nodes are called. */
  readonly name: string;
  /** Undefined for volumes of other kinds. */
  readonly idOf: (source: Source) => string | undefined;
  /** On nodes that do not say. */
  readonly limit: (instanceType: string) => number;
}

export const diskKinds = {
  ebs: {
    plugin: 'EBSLimits',
    name: 'aws-ebs',
    idOf: ({ awsElasticBlockStore }) => awsElasticBlockStore?.volumeID,
    // Machines of newer kinds have fewer places for disks.
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

/** Says for all kinds how many disks a node can have that does not say. */
const variableOf = ({ shortName }: Dialect): string => `${shortName.toUpperCase()}_MAX_PD_VOLS`;

/** Undefined where the environment says nothing, or nothing that can be meant. */
export function maxDisksOf(env: Environment, dialect: Dialect): number | undefined {
  const text = env[variableOf(dialect)] ?? '';
  return /^0*[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}

/** That the environment says something that counts for nothing; undefined: it does not. */
export function maxDisksWarning(env: Environment, dialect: Dialect): string | undefined {
  const name = variableOf(dialect);
  const text = env[name] ?? '';
  if (text === '' || maxDisksOf(env, dialect) !== undefined) return undefined;
  return `Variable ${name} has no effect: ${JSON.stringify(text)} is no positive number`;
}

/** `max`: for nodes that do not say; absent: by kind. */
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

interface DiskQuestion {
  readonly kind: DiskKind;
  readonly pod: Pod;
  readonly storage: StorageObjects;
  readonly dialect: Dialect;
  readonly max: number | undefined;
  readonly migration: CsiMigration;
}

class DiskFilter implements NodeFilter {
  readonly #question: DiskQuestion;
  #wanted: ReadonlySet<string> = new Set();

  constructor(question: DiskQuestion) {
    this.#question = question;
  }

  begin(): undefined {
    this.#wanted = this.#disksOf(this.#question.pod);
  }

  filter(node: NodeInfo): Rejection | undefined {
    if (this.#wanted.size === 0 || this.#isMigrated(node)) return undefined;
    const there = new Set<string>();
    for (const { pod } of node.pods.values()) for (const disk of this.#disksOf(pod)) there.add(disk);
    let count = there.size;
    for (const disk of this.#wanted) if (!there.has(disk)) count++;
    return count > this.#limitOf(node) ? tooMany : undefined;
  }

  /** On such a node a CSI driver counts these disks. */
  #isMigrated({ name }: NodeInfo): boolean {
    const { dialect, kind, migration, storage } = this.#question;
    return migration.isOn(storage.csiNode(name), `${dialect.labelDomain}/${kind.name}`);
  }

  #limitOf({ allocatable, labels }: NodeInfo): number {
    const { dialect, kind, max } = this.#question;
    const own = allocatable.scalars?.get(`attachable-volumes-${kind.name}`);
    const { betaInstanceType, instanceType } = dialect.labels;
    return own ?? max ?? kind.limit(labels[instanceType] ?? labels[betaInstanceType] ?? '');
  }

  /** A claim counts as a disk of its own while nobody knows its disk, if those who make its volumes make such. */
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
