import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import { csidrivers, csinodes, csistoragecapacities, storageclasses } from '#api/storage/v1/resources.gen.js';
import type { CSIDriver, CSINode, CSIStorageCapacity, StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { ApiObject } from '#client/client.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import type { ClusterEvent } from '#scheduler/cluster/events.js';
import type { StorageObjects } from '#scheduler/cluster/objects.js';

const byClass = 'schedulerUnclaimedOfClass';
const byClaim = 'schedulerClaim';
const capacityByClass = 'schedulerStorageClass';

/** Claims, volumes, storage classes and CSI objects, from informers. */
export class LiveStorage implements StorageObjects {
  readonly #dialect: Dialect;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #classes: Informer<StorageClass>;
  readonly #drivers: Informer<CSIDriver>;
  readonly #csiNodes: Informer<CSINode>;
  readonly #capacities: Informer<CSIStorageCapacity>;

  constructor(informers: InformerFactory, dialect: Dialect) {
    this.#dialect = dialect;
    this.#claims = informers.informer(persistentvolumeclaims);
    this.#volumes = informers.informer(persistentvolumes);
    this.#classes = informers.informer(storageclasses);
    this.#drivers = informers.informer(csidrivers);
    this.#csiNodes = informers.informer(csinodes);
    this.#capacities = informers.informer(csistoragecapacities);
    this.#volumes.addIndexers({
      [byClass]: (volume) => (volume.spec.claimRef === undefined ? [storageClassOf(volume, dialect)] : []),
      [byClaim]: ({ spec: { claimRef } }) =>
        claimRef === undefined ? [] : [keyFor(claimRef.namespace, claimRef.name ?? '')],
    });
    this.#capacities.addIndexers({ [capacityByClass]: ({ storageClassName }) => [storageClassName] });
  }

  claim(key: string): PersistentVolumeClaim | undefined {
    return this.#claims.get(key);
  }

  volume(name: string): PersistentVolume | undefined {
    return this.#volumes.get(name);
  }

  volumesFor(claim: PersistentVolumeClaim): readonly PersistentVolume[] {
    const reserved = this.#volumes.byIndex(byClaim, keyOf(claim));
    return [...reserved, ...this.#volumes.byIndex(byClass, storageClassOf(claim, this.#dialect))];
  }

  storageClass(name: string): StorageClass | undefined {
    return this.#classes.get(name);
  }

  csiNode(name: string): CSINode | undefined {
    return this.#csiNodes.get(name);
  }

  capacities({ metadata: { name = '' }, provisioner }: StorageClass): readonly CSIStorageCapacity[] | undefined {
    if (this.#drivers.get(provisioner)?.spec.storageCapacity !== true) return undefined;
    return this.#capacities.byIndex(capacityByClass, name);
  }

  /** Reports changes that could help a pod, until the returned function is called. */
  follow(notify: (event: ClusterEvent) => void): () => void {
    const follow = <T extends ApiObject>(informer: Informer<T>, added: ClusterEvent, updated: ClusterEvent) =>
      informer.addHandler({ onAdd: () => notify(added), onUpdate: () => notify(updated) });
    const removes = [
      follow(this.#volumes, 'PvAdd', 'PvUpdate'),
      follow(this.#claims, 'PvcAdd', 'PvcUpdate'),
      follow(this.#classes, 'StorageClassAdd', 'StorageClassUpdate'),
      follow(this.#csiNodes, 'CSINodeAdd', 'CSINodeUpdate'),
      follow(this.#drivers, 'CSIDriverAdd', 'CSIDriverUpdate'),
      follow(this.#capacities, 'CSIStorageCapacityAdd', 'CSIStorageCapacityUpdate'),
    ];
    return () => {
      for (const remove of removes) remove();
    };
  }
}
