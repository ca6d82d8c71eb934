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
    this.#wanted = this.#volumesOf(this.#pod);
  }

  filter(node: NodeInfo): Rejection | undefined {
    if (this.#wanted.size === 0) return undefined;
    const limits = this.#limitsOf(node);
    if (limits.size === 0) return undefined;
    const there = new Map([...node.pods.values()].flatMap(({ pod }) => [...this.#volumesOf(pod)]));
    const all = new Map([...there, ...this.#wanted]);
    for (const [driver, limit] of limits) {
      const isNew = [...this.#wanted].some(([volume, of]) => of === driver && !there.has(volume));
      if (isNew && [...all.values()].filter((of) => of === driver).length > limit) return tooMany;
    }
    return undefined;
  }

  #limitsOf({ allocatable, name }: NodeInfo): Map<string, number> {
    const limits = new Map<string, number>();
    for (const [resource, count] of allocatable.scalars ?? []) {
      if (resource.startsWith(nodeLimitPrefix)) limits.set(resource.slice(nodeLimitPrefix.length), count);
    }
    for (const { allocatable: own, name: driver } of this.#storage.csiNode(name)?.spec.drivers ?? []) {
      if (own?.count !== undefined) limits.set(driver, own.count);
    }
    return limits;
  }

  /** Those of CSI drivers; a claim that has no volume yet counts as one of its class. */
  #volumesOf(pod: Pod): Map<string, string> {
    const volumes = new Map<string, string>();
    for (const name of claimNamesOf(pod)) {
      const key = keyFor(pod.metadata.namespace, name);
      const claim = this.#storage.claim(key);
      if (claim === undefined) continue;
      const volume = this.#storage.volume(claim.spec.volumeName ?? '');
      if (volume?.spec.csi !== undefined) {
        volumes.set(`${volume.spec.csi.driver}/${volume.spec.csi.volumeHandle}`, volume.spec.csi.driver);
      } else if (volume === undefined) {
        const provisioner = this.#storage.storageClass(storageClassOf(claim, this.#dialect))?.provisioner;
        if (provisioner !== undefined) volumes.set(`${provisioner}/claim ${key}`, provisioner);
      }
    }
    return volumes;
  }
}
