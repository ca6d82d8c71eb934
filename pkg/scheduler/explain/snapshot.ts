/** The state behind a decision, and a copy of it for trials. */

import { setImmediate } from 'node:timers/promises';
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import type { CSINode, CSIStorageCapacity, StorageClass } from '#api/storage/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { LabelSelector } from '#apimachinery/selectors/labels.js';
import { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { Budget, ClusterObjects, StorageObjects } from '#scheduler/cluster/objects.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import { checkWithNominated } from '#scheduler/decision/nominated.js';
import { Plans } from '#scheduler/decision/plans.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import { FitError } from '#scheduler/framework/fit-error.js';
import type { Profile } from '#scheduler/framework/profile.js';
import { Nominator } from '#scheduler/queue/nominator.js';

export interface PlacedPod {
  readonly pod: PodInfo;
  readonly node: string;
}

/** Consistent, since it is taken in one turn of the event loop. */
export interface Snapshot {
  readonly nodes: readonly Node[];
  /** Bound pods that have not ended, and assumed pods. */
  readonly placed: readonly PlacedPod[];
  /** Nominated pods, for which preemption makes room. */
  readonly nominated: readonly PlacedPod[];
  readonly objects: ClusterObjects;
}

/** Maximum time between yields to the event loop; ms. */
const sliceMs = 2;

export class Pace {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #signal: AbortSignal | undefined;
  #since: number;

  /** `signal` aborts when the result is no longer needed. */
  constructor(clock: Pick<Clock, 'monotonic'>, signal?: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    this.#since = clock.monotonic();
  }

  /** Must be called between steps of well under a millisecond. Throws when the signal has aborted. */
  async step(): Promise<void> {
    if (this.#clock.monotonic() - this.#since < sliceMs) return;
    await setImmediate();
    this.#signal?.throwIfAborted();
    this.#since = this.#clock.monotonic();
  }
}

/** A separate cluster that runs the scheduler's code; changes to it do not affect the real one. */
export class ClusterCopy {
  readonly cluster: Cluster;
  readonly objects: ChangedObjects;
  readonly nominator = new Nominator();
  readonly pace: Pace;
  readonly #plans: Plans;

  private constructor(dialect: Dialect, objects: ClusterObjects, pace: Pace) {
    this.objects = new ChangedObjects(objects);
    this.cluster = new Cluster(dialect, this.objects);
    this.#plans = new Plans(this.cluster);
    this.pace = pace;
  }

  static async of(snapshot: Snapshot, dialect: Dialect, pace: Pace): Promise<ClusterCopy> {
    const copy = new ClusterCopy(dialect, snapshot.objects, pace);
    for (const node of snapshot.nodes) {
      copy.cluster.setNode(node);
      await pace.step();
    }
    for (const { pod, node } of snapshot.placed) {
      copy.cluster.assume(pod, node);
      await pace.step();
    }
    for (const { pod, node } of snapshot.nominated) copy.nominator.add(pod, node);
    return copy;
  }

  filters(pod: PodInfo, profile: Profile) {
    return this.#plans.begin(pod, profile).filters;
  }

  /** Splits the nodes into those that can take the pod and the refusals of the others. */
  async look(
    pod: PodInfo,
    profile: Profile,
  ): Promise<{ readonly fitting: readonly NodeInfo[]; readonly refusals: ReadonlyMap<NodeInfo, Refusal> }> {
    const fitting: NodeInfo[] = [];
    const refusals = new Map<NodeInfo, Refusal>();
    const refusalOn = this.decision(pod, profile);
    for (const node of this.cluster.nodes()) {
      const refusal = refusalOn(node);
      if (refusal === undefined) fitting.push(node);
      else refusals.set(node, refusal);
      await this.pace.step();
    }
    return { fitting, refusals };
  }

  /** Decides why a node cannot take the pod, like the scheduler. Valid until the copy changes. */
  decision(pod: PodInfo, profile: Profile): (node: NodeInfo) => Refusal | undefined {
    const filters = this.filters(pod, profile);
    const { refusal } = filters;
    if (refusal !== undefined) return () => refusal;
    return (node) => checkWithNominated(this.cluster, this.nominator, filters, pod, node, () => filters.check(node));
  }
}

/** The error for a pod that this many nodes refuse. */
export function fitError(nodes: number, refusals: Iterable<Refusal>): FitError {
  const counts = new Map<Refusal, number>();
  for (const refusal of refusals) counts.set(refusal, (counts.get(refusal) ?? 0) + 1);
  return new FitError(nodes, counts);
}

/** The real objects, overlaid with claims and volumes on trial. */
class ChangedObjects implements ClusterObjects {
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

  /** Drops all changes. */
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
