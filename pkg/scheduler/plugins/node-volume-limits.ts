import { claimNamesOf } from '#api/core/v1/pod/claims.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { StorageObjects } from '#scheduler/cluster/objects.js';
import type { NodeFilter, Plugin, Rejection } from '#scheduler/framework/plugin.js';

const tooMany: Rejection = { reasons: ['node(s) exceed max volume count'] };
/** Before a driver's name: what a node can have of its volumes, where the node itself says so. */
const nodeLimitPrefix = 'attachable-volumes-csi-';

/** No more volumes of a CSI driver on a node than the driver can have there. */
export function nodeVolumeLimits(dialect: Dialect): Plugin {
  return {
    name: 'NodeVolumeLimits',
    events: ['NodeAdd', 'AssignedPodDelete', 'CSINodeAdd', 'CSINodeUpdate'],
    filter: {
      local: false,
      prepare({ pod }, { objects: { storage } }) {
        return claimNamesOf(pod).length === 0 ? undefined : new LimitFilter(pod, storage, dialect);
      },
    },
  };
}

class LimitFilter implements NodeFilter {
  readonly #pod: Pod;
  readonly #storage: StorageObjects;
  readonly #dialect: Dialect;
  /** Volume → driver. */
  #wanted: ReadonlyMap<string, string> = new Map();

  constructor(pod: Pod, storage: StorageObjects, dialect: Dialect) {
    this.#pod = pod;
    this.#storage = storage;
    this.#dialect = dialect;
  }

  begin(): undefined {
    this.#wanted = volumesOf(this.#pod, this.#storage, this.#dialect);
  }

  filter(node: NodeInfo): Rejection | undefined {
    if (this.#wanted.size === 0) return undefined;
    return loadsOf(this.#wanted, node, this.#storage, this.#dialect).some(isOverloaded) ? tooMany : undefined;
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
  return loadsOf(volumesOf(pod, storage, dialect), node, storage, dialect);
}

/** `wanted`: volume → driver. */
function loadsOf(
  wanted: ReadonlyMap<string, string>,
  node: NodeInfo,
  storage: StorageObjects,
  dialect: Dialect,
): DriverLoad[] {
  const limits = limitsOf(node, storage);
  if (limits.size === 0) return [];
  const there = new Map([...node.pods.values()].flatMap(({ pod }) => [...volumesOf(pod, storage, dialect)]));
  return [...limits].map(([driver, limit]) => ({
    driver,
    limit,
    attached: [...there.values()].filter((of) => of === driver).length,
    wanted: [...wanted].filter(([volume, of]) => of === driver && !there.has(volume)).length,
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

/** Volume → driver, of CSI drivers; a claim that has no volume yet counts as one of its class. */
function volumesOf(pod: Pod, storage: StorageObjects, dialect: Dialect): Map<string, string> {
  const volumes = new Map<string, string>();
  for (const name of claimNamesOf(pod)) {
    const key = keyFor(pod.metadata.namespace, name);
    const claim = storage.claim(key);
    if (claim === undefined) continue;
    const volume = storage.volume(claim.spec.volumeName ?? '');
    if (volume?.spec.csi !== undefined) {
      volumes.set(`${volume.spec.csi.driver}/${volume.spec.csi.volumeHandle}`, volume.spec.csi.driver);
    } else if (volume === undefined) {
      const provisioner = storage.storageClass(storageClassOf(claim, dialect))?.provisioner;
      if (provisioner !== undefined) volumes.set(`${provisioner}/claim ${key}`, provisioner);
    }
  }
  return volumes;
}
