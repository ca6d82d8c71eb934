/** What plugins read of objects other than nodes and pods. */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import type { CSINode, CSIStorageCapacity, StorageClass } from '#api/storage/v1/types.gen.js';
import { everything, type LabelSelector } from '#apimachinery/selectors/labels.js';
import type { NamespaceLabels } from '#scheduler/cluster/affinity-term.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

/** How many evictions a disruption budget allows. */
export interface Budget {
  /** `namespace/name`. */
  readonly key: string;
  readonly allowed: number;
  /** It protects the pod, whose eviction it has not counted yet. */
  covers(pod: PodInfo): boolean;
}

/** Claims, volumes and what makes them. */
export interface StorageObjects {
  /** `key`: `namespace/name`. */
  claim(key: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  /** All volumes that are reserved for the claim, all unclaimed ones of its class, and maybe some others. */
  volumesFor(claim: PersistentVolumeClaim): readonly PersistentVolume[];
  storageClass(name: string): StorageClass | undefined;
  /** Of the node with that name. */
  csiNode(name: string): CSINode | undefined;
  /** What is left where, for volumes of the class; undefined when its driver does not say. */
  capacities(storageClass: StorageClass): readonly CSIStorageCapacity[] | undefined;
}

export interface ClusterObjects {
  readonly storage: StorageObjects;
  readonly namespaceLabels: NamespaceLabels;
  /** What the pod's services and its controller select: the pods it is spread among. Everything: nothing selects it. */
  spreadSelector(pod: Pod): LabelSelector;
  /** The same list until one of them changes. */
  budgets(): readonly Budget[];
}

const none: readonly Budget[] = [];

export const noObjects: ClusterObjects = {
  namespaceLabels: () => undefined,
  spreadSelector: () => everything,
  budgets: () => none,
  storage: {
    claim: () => undefined,
    volume: () => undefined,
    volumesFor: () => [],
    storageClass: () => undefined,
    csiNode: () => undefined,
    capacities: () => undefined,
  },
};
