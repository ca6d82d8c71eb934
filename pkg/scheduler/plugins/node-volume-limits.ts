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
/** Before a driver's name: what a node can have of its volumes, where the node itself says so. */
const nodeLimitPrefix = 'attachable-volumes-csi-';

/** No more volumes of a CSI driver on a node than the driver can have there. */
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

interface Knowledge {
  readonly storage: StorageObjects;
  readonly dialect: Dialect;
  readonly migration: CsiMigration;
}

/** Who serves a volume. */
interface Served {
  readonly driver: string;
  /** The plugin that does so itself on nodes that have not handed it over to the driver; absent: the driver always does. */
  readonly plugin?: string;
}

class LimitFilter implements NodeFilter {
  readonly #pod: Pod;
  readonly #knowledge: Knowledge;
  /** By volume. */
  #wanted: ReadonlyMap<string, Served> = new Map();

  constructor(pod: Pod, knowledge: Knowledge) {
    this.#pod = pod;
    this.#knowledge = knowledge;
  }

  begin(): undefined {
    this.#wanted = volumesOf(this.#pod, this.#knowledge);
  }

  filter(node: NodeInfo): Rejection | undefined {
    if (this.#wanted.size === 0) return undefined;
    return loadsOf(this.#wanted, node, this.#knowledge).some(isOverloaded) ? tooMany : undefined;
  }
}

/** The volumes of a CSI driver that says how many of them a node can have. */
export interface DriverLoad {
  readonly driver: string;
  readonly limit: number;
  /** Those that pods of the node use. */
  readonly attached: number;
  /** Those that the pod would add. */
  readonly wanted: number;
}

export const isOverloaded = ({ attached, limit, wanted }: DriverLoad): boolean =>
  wanted > 0 && attached + wanted > limit;

/** Of the drivers that have a limit on the node. */
export function driverLoads(pod: Pod, node: NodeInfo, storage: StorageObjects, dialect: Dialect): DriverLoad[] {
  const knowledge = { storage, dialect, migration: new CsiMigration(dialect) };
  return loadsOf(volumesOf(pod, knowledge), node, knowledge);
}

/** `wanted`: by volume. */
function loadsOf(wanted: ReadonlyMap<string, Served>, node: NodeInfo, knowledge: Knowledge): DriverLoad[] {
  const { migration, storage } = knowledge;
  const limits = limitsOf(node, storage);
  if (limits.size === 0) return [];
  const csiNode = storage.csiNode(node.name);
  const there = new Map([...node.pods.values()].flatMap(({ pod }) => [...volumesOf(pod, knowledge)]));
  const isOf = (of: string, { driver, plugin }: Served) =>
    driver === of && (plugin === undefined || migration.isOn(csiNode, plugin));
  return [...limits].map(([driver, limit]) => ({
    driver,
    limit,
    attached: [...there.values()].filter((served) => isOf(driver, served)).length,
    wanted: [...wanted].filter(([volume, served]) => isOf(driver, served) && !there.has(volume)).length,
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

/** Those that CSI drivers serve, or may serve; a claim that has no volume yet counts as one of its class. */
function volumesOf(pod: Pod, { dialect, migration, storage }: Knowledge): Map<string, Served> {
  const volumes = new Map<string, Served>();
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
