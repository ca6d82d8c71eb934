import { claimNamesOf } from '#api/core/v1/pod/claims.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { StorageObjects } from '#scheduler/cluster/objects.js';
import type { NodeFilter, Plugin, Rejection } from '#scheduler/framework/plugin.js';
import { CsiMigration } from '#scheduler/plugins/csi-migration/csi-migration.js';

const tooMany: Rejection = { reasons: ['node(s) exceed max volume count'] };
/** Prefix of the node resource that limits a driver's volumes. */
const nodeLimitPrefix = 'attachable-volumes-csi-';

/** Limits the volumes of each CSI driver on a node. */
export function nodeVolumeLimits(dialect: Dialect, migration = new CsiMigration(dialect)): Plugin {
  return {
    name: 'NodeVolumeLimits',
    events: ['NodeAdd', 'AssignedPodDelete', 'CSINodeAdd', 'CSINodeUpdate'],
    filter: {
      local: false,
      prepare({ pod }, { objects: { storage } }) {
        return claimNamesOf(pod).length === 0 ? undefined : new LimitFilter(pod, { storage, dialect, migration });
      },
    },
  };
}

interface LimitContext {
  readonly storage: StorageObjects;
  readonly dialect: Dialect;
  readonly migration: CsiMigration;
}

/** How a volume is served. */
interface VolumeSource {
  readonly driver: string;
  /** The in-tree plugin on nodes that did not migrate it; absent: always the driver. */
  readonly plugin?: string;
}

class LimitFilter implements NodeFilter {
  readonly #pod: Pod;
  readonly #knowledge: LimitContext;
  /** By volume. */
  #podVolumes: ReadonlyMap<string, VolumeSource> = new Map();

  constructor(pod: Pod, knowledge: LimitContext) {
    this.#pod = pod;
    this.#knowledge = knowledge;
  }

  begin(): undefined {
    this.#podVolumes = volumesOf(this.#pod, this.#knowledge);
  }

  filter(node: NodeInfo): Rejection | undefined {
    if (this.#podVolumes.size === 0) return undefined;
    return loadsOf(this.#podVolumes, node, this.#knowledge).some(isOverloaded) ? tooMany : undefined;
  }
}

/** Volume counts of a CSI driver with a limit on the node. */
export interface DriverLoad {
  readonly driver: string;
  readonly limit: number;
  /** Volumes used by pods of the node. */
  readonly attached: number;
  /** Volumes that the pod would add. */
  readonly additional: number;
}

export const isOverloaded = ({ attached, limit, additional }: DriverLoad): boolean =>
  additional > 0 && attached + additional > limit;

/** Loads of all drivers with a limit on the node. */
export function driverLoads(pod: Pod, node: NodeInfo, storage: StorageObjects, dialect: Dialect): DriverLoad[] {
  const knowledge = { storage, dialect, migration: new CsiMigration(dialect) };
  return loadsOf(volumesOf(pod, knowledge), node, knowledge);
}

/** `podVolumes`: sources by volume. */
function loadsOf(podVolumes: ReadonlyMap<string, VolumeSource>, node: NodeInfo, knowledge: LimitContext): DriverLoad[] {
  const { migration, storage } = knowledge;
  const limits = limitsOf(node, storage);
  if (limits.size === 0) return [];
  const csiNode = storage.csiNode(node.name);
  const attached = new Map([...node.pods.values()].flatMap(({ pod }) => [...volumesOf(pod, knowledge)]));
  const isOf = (of: string, { driver, plugin }: VolumeSource) =>
    driver === of && (plugin === undefined || migration.isOn(csiNode, plugin));
  return [...limits].map(([driver, limit]) => ({
    driver,
    limit,
    attached: [...attached.values()].filter((served) => isOf(driver, served)).length,
    additional: [...podVolumes].filter(([volume, served]) => isOf(driver, served) && !attached.has(volume)).length,
  }));
}

function limitsOf({ allocatable, name }: NodeInfo, storage: StorageObjects): Map<string, number> {
  const limits = new Map<string, number>();
  for (const [resource, count] of allocatable.scalars ?? []) {
    if (resource.startsWith(nodeLimitPrefix)) limits.set(resource.slice(nodeLimitPrefix.length), count);
  }
  for (const { allocatable: own, name: driver } of storage.csiNode(name)?.spec.drivers ?? []) {
    if (own?.count !== undefined) limits.set(driver, own.count);
  }
  return limits;
}

/** The pod's volumes that are or may be served by CSI drivers; a claim without a volume counts for its class. */
function volumesOf(pod: Pod, { dialect, migration, storage }: LimitContext): Map<string, VolumeSource> {
  const volumes = new Map<string, VolumeSource>();
  for (const name of claimNamesOf(pod)) {
    const key = keyFor(pod.metadata.namespace, name);
    const claim = storage.claim(key);
    if (claim === undefined) continue;
    const volume = storage.volume(claim.spec.volumeName ?? '');
    if (volume === undefined) {
      const provisioner = storage.storageClass(storageClassOf(claim, dialect))?.provisioner;
      if (provisioner === undefined) continue;
      const served = migration.ofProvisioner(provisioner) ?? { driver: provisioner };
      volumes.set(`${served.driver}/claim ${key}`, served);
    } else if (volume.spec.csi !== undefined) {
      const { driver, volumeHandle } = volume.spec.csi;
      volumes.set(`${driver}/${volumeHandle}`, { driver });
    } else {
      const migrated = migration.ofVolume(volume);
      if (migrated !== undefined) volumes.set(`${migrated.driver}/${migrated.handle}`, migrated);
    }
  }
  return volumes;
}
