import type { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import type { CSINode, CSIStorageCapacity, StorageClass } from '#api/storage/v1/types.gen.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { LabelSelector } from '#apimachinery/selectors/labels.js';
import type { Budget, ClusterObjects, StorageObjects } from '#scheduler/cluster/objects.js';

/** Objects as they are, with claims and volumes that are tried. */
export class ChangedObjects implements ClusterObjects {
  readonly storage: ChangedStorage;
  readonly #base: ClusterObjects;

  constructor(base: ClusterObjects) {
    this.#base = base;
    this.storage = new ChangedStorage(base.storage);
  }

  namespaceLabels = (namespace: string): Readonly<Record<string, string>> | undefined =>
    this.#base.namespaceLabels(namespace);

  spreadSelector(pod: Pod): LabelSelector {
    return this.#base.spreadSelector(pod);
  }

  budgets(): readonly Budget[] {
    return this.#base.budgets();
  }
}

class ChangedStorage implements StorageObjects {
  readonly #base: StorageObjects;
  readonly #claims = new Map<string, PersistentVolumeClaim>();
  readonly #volumes = new Map<string, PersistentVolume>();

  constructor(base: StorageObjects) {
    this.#base = base;
  }

  setClaim(claim: PersistentVolumeClaim): void {
    this.#claims.set(keyOf(claim), claim);
  }

  setVolume(volume: PersistentVolume): void {
    this.#volumes.set(volume.metadata.name ?? '', volume);
  }

  /** All is as it really is again. */
  reset(): void {
    this.#claims.clear();
    this.#volumes.clear();
  }

  claim(key: string): PersistentVolumeClaim | undefined {
    return this.#claims.get(key) ?? this.#base.claim(key);
  }

  volume(name: string): PersistentVolume | undefined {
    return this.#volumes.get(name) ?? this.#base.volume(name);
  }

  volumesFor(claim: PersistentVolumeClaim): readonly PersistentVolume[] {
    return [...this.#volumes.values(), ...this.#base.volumesFor(claim)];
  }

  storageClass(name: string): StorageClass | undefined {
    return this.#base.storageClass(name);
  }

  csiNode(name: string): CSINode | undefined {
    return this.#base.csiNode(name);
  }

  capacities(storageClass: StorageClass): readonly CSIStorageCapacity[] | undefined {
    return this.#base.capacities(storageClass);
  }
}
