/** Objects other than nodes and pods that plugins read. */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import type { CSINode, CSIStorageCapacity, StorageClass } from '#api/storage/v1/types.gen.js';
import { everything, type LabelSelector } from '#apimachinery/selectors/labels.js';
import type { NamespaceLabels } from '#scheduler/cluster/affinity-term.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

/** A disruption budget's allowed evictions. */
export interface Budget {
  /** `namespace/name`. */
  readonly key: string;
  readonly allowed: number;
  /** Whether it protects the pod and has not counted the pod's eviction yet. */
  covers(pod: PodInfo): boolean;
}

/** Claims, volumes, storage classes and CSI objects. */
export interface StorageObjects {
  /** `key`: `namespace/name`. */
  claim(key: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  /** All volumes reserved for the claim and all unclaimed ones of its class; may contain others. */
  volumesFor(claim: PersistentVolumeClaim): readonly PersistentVolume[];
  storageClass(name: string): StorageClass | undefined;
  /** The CSINode of the node with that name. */
  csiNode(name: string): CSINode | undefined;
  /** Free capacity by segment for the class; undefined if the driver does not report it. */
  capacities(storageClass: StorageClass): readonly CSIStorageCapacity[] | undefined;
}

export interface ClusterObjects {
  readonly storage: StorageObjects;
  readonly namespaceLabels: NamespaceLabels;
  /** Selects the pods among which the pod is spread, by its services and controller; empty if there are none. */
  spreadSelector(pod: Pod): LabelSelector;
  /** Returns the same list until a budget changes. */
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
