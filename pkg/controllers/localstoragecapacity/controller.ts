/**
 * Maintains a CSIStorageCapacity per node and storage class with the node's free capacity for local directory volumes, so
 * that the scheduler places pods where their claims fit.
 */

import { createHash } from 'node:crypto';
import { nodes, nodes as nodeType, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { Node, PersistentVolume } from '#api/core/v1/types.gen.js';
import { localDirectoryProvisioner } from '#api/core/v1/volume/local-provisioner.js';
import { csistoragecapacities, storageclasses } from '#api/storage/v1/resources.gen.js';
import type { CSIStorageCapacity, StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import { value } from '#apimachinery/quantity.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

const concurrency = 5;
const nodeIndex = 'localVolumeNode';
const capacityIndex = 'localCapacityNode';

export class LocalStorageCapacityController implements Controller {
  readonly name = 'local-storage-capacity';
  readonly #context: ControllerContext;
  readonly #nodes: Informer<Node>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #classes: Informer<StorageClass>;
  readonly #capacities: Informer<CSIStorageCapacity>;
  /** Keys are node names. */
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext) {
    const { informers, dialect } = context;
    this.#context = context;
    this.#nodes = sharedInformer(informers, nodeType);
    this.#volumes = sharedInformer(informers, persistentvolumes);
    this.#classes = sharedInformer(informers, storageclasses);
    this.#capacities = sharedInformer(informers, csistoragecapacities);
    this.#volumes.addIndexers({ [nodeIndex]: (volume) => [nodeOfVolume(volume, dialect) ?? ''] });
    this.#capacities.addIndexers({ [capacityIndex]: (capacity) => [nodeOfCapacity(capacity) ?? ''] });
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
    const addNodeOfCapacity = (capacity: CSIStorageCapacity) => {
      const node = nodeOfCapacity(capacity);
      if (node !== undefined) queue.add(node);
    };
    const addAll = (storageClass: StorageClass) => {
      if (isLocalClass(storageClass, dialect)) this.#nodes.list().forEach(addNode);
    };
    await this.#loop.run(signal, [
      this.#nodes.addHandler({
        onAdd: addNode,
        // Ignore heartbeats.
        onUpdate: (node, old) => {
          if (!hasSameCapacity(node, old, dialect)) addNode(node);
        },
        onDelete: addNode,
      }),
      this.#volumes.addHandler({ onAdd: addNodeOf, onUpdate: addNodeOf, onDelete: addNodeOf }),
      this.#classes.addHandler({ onAdd: addAll, onDelete: addAll }),
      // Repair objects that other clients changed or deleted.
      this.#capacities.addHandler({ onUpdate: addNodeOfCapacity, onDelete: addNodeOfCapacity }),
    ]);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { dialect } = this.#context;
    const node = this.#nodes.get(key);
    const classes = this.#classes.list().filter((each) => isLocalClass(each, dialect));
    const volumes = this.#volumes.byIndex(nodeIndex, key);
    const desired = new Map(
      capacitiesOf({ dialect, node, volumes, classes }).map((capacity) => [capacity.metadata.name ?? '', capacity]),
    );
    for (const capacity of desired.values()) await this.#save(capacity);
    for (const capacity of this.#capacities.byIndex(capacityIndex, key)) {
      if (!desired.has(capacity.metadata.name ?? '')) await this.#delete(capacity);
    }
    return done;
  }

  async #save(desired: CSIStorageCapacity): Promise<void> {
    const { client } = this.#context;
    const existing = this.#capacities.get(keyOf(desired));
    if (existing === undefined) {
      try {
        await client.resource(csistoragecapacities).create(desired);
      } catch (error) {
        // The cache does not show the object yet.
        if (!isAlreadyExists(error)) throw error;
      }
    } else if (existing.capacity !== desired.capacity) {
      const { capacity } = desired;
      const merged = capacity === undefined ? existing : { ...existing, capacity };
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

function hasSameCapacity(node: Node, old: Node, { labels }: Dialect): boolean {
  const hostname = ({ metadata }: Node) => metadata.labels?.[labels.hostname];
  const room = ({ status }: Node) => status?.allocatable?.['ephemeral-storage'];
  return room(node) === room(old) && hostname(node) === hostname(old);
}

export interface CapacityObservation {
  readonly dialect: Dialect;
  /** Undefined when the node is deleted. */
  readonly node: Node | undefined;
  /** The node's local directory volumes. */
  readonly volumes: readonly PersistentVolume[];
  /** Storage classes of local directories. */
  readonly classes: readonly StorageClass[];
}

/** One capacity per class; empty for a deleted node, or one that has not reported its storage. Pure. */
function capacitiesOf({ dialect, node, volumes, classes }: CapacityObservation): CSIStorageCapacity[] {
  const hostname = node?.metadata.labels?.[dialect.labels.hostname];
  const room = node?.status?.allocatable?.['ephemeral-storage'];
  if (node === undefined || hostname === undefined || room === undefined) return [];
  const used = volumes.reduce((sum, { spec }) => sum + value(spec.capacity?.['storage'] ?? '0'), 0);
  const capacity = String(Math.max(0, Math.floor(value(room) - used)));
  const { name = '', uid = '' } = node.metadata;
  const owner = { apiVersion: dialect.apiVersion(nodes.group, nodes.version), kind: nodes.kind, name, uid };
  return classes.map(({ metadata: { name: storageClassName = '' } }) => ({
    metadata: {
      name: capacityName(name, storageClassName),
      namespace: dialect.namespaces.system,
      // The garbage collector deletes the objects with the node.
      ownerReferences: [owner],
    },
    storageClassName,
    nodeTopology: { matchLabels: { [dialect.labels.hostname]: hostname } },
    capacity,
  }));
}

/** The name of the capacity object: a hash, because the names of node and class can have the maximum length. */
function capacityName(node: string, storageClass: string): string {
  const hash = createHash('sha256').update(`${node}/${storageClass}`).digest('hex').slice(0, 16);
  return `local-${hash}`;
}

/** The node of a local directory volume; undefined for other volumes. */
function nodeOfVolume({ metadata }: PersistentVolume, { annotations }: Dialect): string | undefined {
  return metadata.annotations?.[annotations.localVolumeNode];
}

/** The node of a capacity object that this controller created; undefined for other objects. */
function nodeOfCapacity({ metadata, storageClassName }: CSIStorageCapacity): string | undefined {
  const node = metadata.ownerReferences?.find(({ kind }) => kind === nodes.kind)?.name;
  return node !== undefined && metadata.name === capacityName(node, storageClassName) ? node : undefined;
}

function isLocalClass({ provisioner }: StorageClass, dialect: Dialect): boolean {
  return provisioner === localDirectoryProvisioner(dialect);
}
