/** Random claims, volumes and classes for random clusters. */
import type { PersistentVolume, PersistentVolumeClaim, Volume } from '#api/core/v1/types.gen.js';
import type { CSINode, CSIStorageCapacity, StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { StorageObjects } from '#scheduler/cluster/objects.js';

interface Dice {
  chance(share: number): boolean;
  pick<T>(...choices: readonly T[]): T;
}

const driver = 'disks.example.com';
const names = ['0', '1', '2', '3', '4', '5'];

export class RandomStorage implements StorageObjects {
  readonly #dice: Dice;
  readonly #dialect: Dialect;
  readonly #csiNodes: readonly CSINode[];
  readonly #classes: readonly StorageClass[];
  readonly #capacities: readonly CSIStorageCapacity[] | undefined;
  readonly #claims: readonly PersistentVolumeClaim[];
  readonly #volumes: readonly PersistentVolume[];

  constructor(dice: Dice, dialect: Dialect) {
    this.#dice = dice;
    this.#dialect = dialect;
    this.#classes = this.#makeClasses();
    this.#capacities = dice.chance(0.6) ? undefined : ['a', 'b'].map((zone) => this.#capacity(zone));
    this.#csiNodes = ['n0', 'n1', 'n2', 'n3'].map((name) => this.#csiNode(name));
    this.#volumes = names.map((i) => this.#volume(`v${i}`));
    this.#claims = names.map((i) => this.#claim(`c${i}`));
  }

  claim(key: string): PersistentVolumeClaim | undefined {
    return this.#claims.find((claim) => keyOf(claim) === key);
  }

  volume(name: string): PersistentVolume | undefined {
    return this.#volumes.find(({ metadata }) => metadata.name === name);
  }

  volumesFor(): readonly PersistentVolume[] {
    return this.#volumes;
  }

  storageClass(name: string): StorageClass | undefined {
    return this.#classes.find(({ metadata }) => metadata.name === name);
  }

  csiNode(name: string): CSINode | undefined {
    return this.#csiNodes.find(({ metadata }) => metadata.name === name);
  }

  capacities({ metadata }: StorageClass): readonly CSIStorageCapacity[] | undefined {
    return metadata.name === 'late' ? this.#capacities : undefined;
  }

  /** A pod volume that uses the object. */
  use(name: string): Volume {
    const dice = this.#dice;
    const readOnly = dice.chance(0.5);
    const disk = dice.pick('x', 'y');
    const claimName = dice.pick('c0', 'c1', 'c2', 'c3', 'c4', 'c5');
    return dice.pick<Volume>(
      { name, persistentVolumeClaim: { claimName } },
      { name, persistentVolumeClaim: { claimName } },
      { name, gcePersistentDisk: { pdName: disk, readOnly } },
      { name, awsElasticBlockStore: { volumeID: disk } },
      { name, rbd: { image: disk, monitors: ['m'], readOnly } },
      { name, emptyDir: {} },
    );
  }

  #makeClasses(): StorageClass[] {
    const { zone } = this.#dialect.labels;
    const delayed = { volumeBindingMode: 'WaitForFirstConsumer' };
    const somewhere = { allowedTopologies: [{ matchLabelExpressions: [{ key: zone, values: ['a', 'b'] }] }] };
    return [
      { metadata: { name: 'soon' }, provisioner: driver, volumeBindingMode: 'Immediate' },
      { metadata: { name: 'late' }, provisioner: driver, ...delayed, ...(this.#dice.chance(0.5) ? somewhere : {}) },
      { metadata: { name: 'hand' }, provisioner: `${this.#dialect.labelDomain}/no-provisioner`, ...delayed },
    ];
  }

  #capacity(zone: string): CSIStorageCapacity {
    const nodeTopology = { matchLabels: { [this.#dialect.labels.zone]: zone } };
    return {
      metadata: { name: zone },
      storageClassName: 'late',
      nodeTopology,
      capacity: this.#dice.pick('1Gi', '5Gi'),
    };
  }

  #csiNode(name: string): CSINode {
    const count = this.#dice.pick(0, 1, 2);
    return { metadata: { name }, spec: { drivers: [{ name: driver, nodeID: name, allocatable: { count } }] } };
  }

  #volume(name: string): PersistentVolume {
    const dice = this.#dice;
    const { zone } = this.#dialect.labels;
    const terms = [{ matchExpressions: [{ key: zone, operator: 'In', values: [dice.pick('a', 'b')] }] }];
    const claimRef = { namespace: dice.pick('one', 'two'), name: dice.pick('c0', 'c1', 'c2', 'c3') };
    return {
      metadata: { name, labels: dice.chance(0.5) ? { [zone]: dice.pick('a', 'b', 'a__b') } : {} },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: dice.pick('1Gi', '2Gi', '5Gi') },
        storageClassName: dice.pick('hand', 'hand', 'late'),
        ...(dice.chance(0.4) ? { nodeAffinity: { required: { nodeSelectorTerms: terms } } } : {}),
        ...(dice.chance(0.6) ? { csi: { driver, volumeHandle: dice.pick('h0', 'h1', 'h2', 'h3') } } : {}),
        ...(dice.chance(0.2) ? { claimRef } : {}),
      },
      status: { phase: dice.chance(0.9) ? 'Available' : 'Pending' },
    };
  }

  #claim(name: string): PersistentVolumeClaim {
    const dice = this.#dice;
    const { bindCompleted, selectedNode } = this.#dialect.annotations;
    const bound = dice.chance(0.7);
    const chosen = dice.chance(0.1) ? { [selectedNode]: dice.pick('n0', 'n1') } : {};
    return {
      metadata: {
        name,
        namespace: dice.pick('one', 'two'),
        uid: name,
        annotations: bound ? { [bindCompleted]: 'yes' } : chosen,
      },
      spec: {
        // Volumes for waiting claims support the default mode only.
        accessModes: [bound && dice.chance(0.6) ? 'ReadWriteOncePod' : 'ReadWriteOnce'],
        resources: { requests: { storage: dice.pick('1Gi', '2Gi') } },
        storageClassName: dice.pick('hand', 'late', 'late', 'late', 'soon'),
        ...(bound ? { volumeName: dice.pick('v0', 'v1', 'v2', 'v3', 'v4', 'gone') } : {}),
      },
    };
  }
}
