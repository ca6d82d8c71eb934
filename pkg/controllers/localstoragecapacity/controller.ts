/**
 * Tells the scheduler, in a CSIStorageCapacity for each node and class, how much room nodes have for volumes that are their
 * directories, so that pods with claims come to nodes where these can be had.
 */
import { nodes as nodeType, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { Node, PersistentVolume } from '#api/core/v1/types.gen.js';
import { csistoragecapacities, storageclasses } from '#api/storage/v1/resources.gen.js';
import type { CSIStorageCapacity, StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { capacitiesOf, isLocalClass, nodeOfCapacity, nodeOfVolume } from '#controllers/localstoragecapacity/plan.js';

const concurrency = 5;
const nodeIndex = 'localVolumeNode';
const madeForIndex = 'localCapacityNode';

export class LocalStorageCapacityController implements Controller {
  readonly name = 'local-storage-capacity';
  readonly #context: ControllerContext;
  readonly #nodes: Informer<Node>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #classes: Informer<StorageClass>;
  readonly #capacities: Informer<CSIStorageCapacity>;
  /** By the names of nodes. */
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext) {
    const { informers, dialect } = context;
    this.#context = context;
    this.#nodes = sharedInformer(informers, nodeType);
    this.#volumes = sharedInformer(informers, persistentvolumes);
    this.#classes = sharedInformer(informers, storageclasses);
    this.#capacities = sharedInformer(informers, csistoragecapacities);
    this.#volumes.addIndexers({ [nodeIndex]: (volume) => [nodeOfVolume(volume, dialect) ?? ''] });
    this.#capacities.addIndexers({ [madeForIndex]: (capacity) => [nodeOfCapacity(capacity) ?? ''] });
    this.#loop = new ReconcileLoop(context, {
      name: 'local-storage-capacity',
      concurrency,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { dialect } = this.#context;
    const { queue } = this.#loop;
    const addNode = (node: Node) => queue.add(keyOf(node));
    const addNodeOf = (volume: PersistentVolume) => {
      const node = nodeOfVolume(volume, dialect);
      if (node !== undefined) queue.add(node);
    };
    const addMadeFor = (capacity: CSIStorageCapacity) => {
      const node = nodeOfCapacity(capacity);
      if (node !== undefined) queue.add(node);
    };
    const addAll = (storageClass: StorageClass) => {
      if (isLocalClass(storageClass, dialect)) this.#nodes.list().forEach(addNode);
    };
    await this.#loop.run(signal, [
      this.#nodes.addHandler({
        onAdd: addNode,
        // They tell of themselves all the time.
        onUpdate: (node, old) => {
          if (!offersTheSame(node, old, dialect)) addNode(node);
        },
        onDelete: addNode,
      }),
      this.#volumes.addHandler({ onAdd: addNodeOf, onUpdate: addNodeOf, onDelete: addNodeOf }),
      this.#classes.addHandler({ onAdd: addAll, onDelete: addAll }),
      // What somebody else has changed or removed is put right.
      this.#capacities.addHandler({ onUpdate: addMadeFor, onDelete: addMadeFor }),
    ]);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { dialect } = this.#context;
    const node = this.#nodes.get(key);
    const classes = this.#classes.list().filter((each) => isLocalClass(each, dialect));
    const volumes = this.#volumes.byIndex(nodeIndex, key);
    const wanted = new Map(
      capacitiesOf({ dialect, node, volumes, classes }).map((capacity) => [capacity.metadata.name ?? '', capacity]),
    );
    for (const capacity of wanted.values()) await this.#save(capacity);
    for (const capacity of this.#capacities.byIndex(madeForIndex, key)) {
      if (!wanted.has(capacity.metadata.name ?? '')) await this.#delete(capacity);
    }
    return done;
  }

  async #save(wanted: CSIStorageCapacity): Promise<void> {
    const { client } = this.#context;
    const known = this.#capacities.get(keyOf(wanted));
    if (known === undefined) {
      try {
        await client.resource(csistoragecapacities).create(wanted);
      } catch (error) {
        // The cache will tell of it.
        if (!isAlreadyExists(error)) throw error;
      }
    } else if (known.capacity !== wanted.capacity) {
      const { capacity } = wanted;
      const merged = capacity === undefined ? known : { ...known, capacity };
      await client.resource(csistoragecapacities).update(merged);
    }
  }

  async #delete({ metadata: { name = '', namespace = '' } }: CSIStorageCapacity): Promise<void> {
    try {
      await this.#context.client.resource(csistoragecapacities).delete(name, { namespace });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

function offersTheSame(node: Node, old: Node, { labels }: Dialect): boolean {
  const hostname = ({ metadata }: Node) => metadata.labels?.[labels.hostname];
  const room = ({ status }: Node) => status?.allocatable?.['ephemeral-storage'];
  return room(node) === room(old) && hostname(node) === hostname(old);
}
