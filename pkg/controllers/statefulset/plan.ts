/**
 * Plans one reconcile of a stateful set: the steps for its pods in order, and the status. Rules of release 1.24
 * (pkg/controller/statefulset/stateful_set_control.go). Pure.
 */
import type { ControllerRevision, StatefulSet, StatefulSetStatus } from '#api/apps/v1/types.gen.js';
import { isPodAvailable, isPodReady, isPodTerminal } from '#api/core/v1/pod/conditions.js';
import type { PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { scaledValue } from '#apimachinery/intstr.js';
import { templateOf } from '#controllers/history/revisions.js';
import { claimsOf, hasIdentity, newStatefulPod, ordinalOf, revisionOf } from '#controllers/statefulset/identity.js';
import { isStaleClaim, withOwners } from '#controllers/statefulset/retention.js';

export interface StatefulSetFeatures {
  readonly autoDeletePVC: boolean;
  readonly maxUnavailable: boolean;
  readonly minReadySeconds: boolean;
}

export interface StatefulSetObservation {
  readonly dialect: Dialect;
  readonly set: StatefulSet;
  /** The owner reference of new pods. */
  readonly reference: OwnerReference;
  /** The set's pods. */
  readonly pods: readonly Pod[];
  readonly current: ControllerRevision;
  readonly update: ControllerRevision;
  readonly collisionCount: number;
  readonly features: StatefulSetFeatures;
  /** Looks up a claim in the set's namespace in the cache. */
  readonly claim: (name: string) => PersistentVolumeClaim | undefined;
}

export type StatefulSetAction =
  | { readonly kind: 'create'; readonly pod: Pod }
  /** `cause`: the pod finished; absent when it is surplus or outdated. */
  | { readonly kind: 'delete'; readonly pod: Pod; readonly cause?: 'failed' | 'succeeded' }
  /** Restores the pod's identity and the owners of its claims. */
  | { readonly kind: 'update'; readonly pod: Pod }
  /** Restores the owners of the pod's claims. */
  | { readonly kind: 'updateClaims'; readonly pod: Pod };

export interface StatefulSetStep {
  readonly action: StatefulSetAction;
  /** The status after the action. */
  readonly status: StatefulSetStatus;
}

export interface StatefulSetPlan {
  /** The status before any action. */
  readonly status: StatefulSetStatus;
  /** In order; a failure ends the execution. */
  readonly steps: readonly StatefulSetStep[];
}

export function planStatefulSet(observed: StatefulSetObservation, now: number): StatefulSetPlan {
  const planner = new Planner(observed, now);
  const before = planner.status();
  if (observed.set.metadata.deletionTimestamp === undefined) planner.run();
  return { status: before, steps: planner.steps };
}

/** The state of a set's pods during planning. */
class Planner {
  readonly steps: StatefulSetStep[] = [];
  readonly #observed: StatefulSetObservation;
  readonly #now: number;
  readonly #ordered: boolean;
  /** By ordinal; undefined entries have no pod yet. */
  readonly #replicas: (Pod | undefined)[];
  /** Pods beyond the desired ordinals, lowest first. */
  readonly #condemned: readonly Pod[];
  /** The first unhealthy pod by ordinal; `missing` for an ordinal without a pod. */
  readonly #firstUnhealthy: Pod | 'missing' | undefined;
  readonly #counts = { replicas: 0, readyReplicas: 0, availableReplicas: 0, currentReplicas: 0, updatedReplicas: 0 };

  constructor(observed: StatefulSetObservation, now: number) {
    const { set, pods } = observed;
    this.#observed = observed;
    this.#now = now;
    this.#ordered = set.spec.podManagementPolicy !== 'Parallel';
    this.#replicas = new Array<Pod | undefined>(set.spec.replicas ?? 1).fill(undefined);
    const condemned: [number, Pod][] = [];
    for (const pod of pods) {
      this.#count(pod);
      const ordinal = ordinalOf(set, pod);
      if (ordinal === undefined) continue;
      if (ordinal < this.#replicas.length) this.#replicas[ordinal] = pod;
      else condemned.push([ordinal, pod]);
    }
    this.#condemned = condemned.sort(([a], [b]) => a - b).map(([, pod]) => pod);
    const unhealthy = [...this.#replicas, ...this.#condemned].find((pod) => !isHealthy(pod)) ?? 'missing';
    this.#firstUnhealthy = unhealthy;
  }

  run(): void {
    if (this.#ensureReplicas() === 'wait') return;
    if (this.#deleteCondemned() === 'wait') return;
    if (this.#observed.set.spec.updateStrategy?.type !== 'OnDelete') this.#replaceOutdated();
  }

  status(): StatefulSetStatus {
    const { set, current, update, collisionCount } = this.#observed;
    const { conditions } = set.status ?? {};
    return {
      ...this.#counts,
      observedGeneration: set.metadata.generation ?? 0,
      currentRevision: current.metadata.name ?? '',
      updateRevision: update.metadata.name ?? '',
      collisionCount,
      ...(conditions === undefined ? {} : { conditions }),
    };
  }

  #count(pod: Pod): void {
    const counts = this.#counts;
    counts.replicas += 1;
    if (isRunningAndReady(pod)) {
      counts.readyReplicas += 1;
      if (this.#isAvailable(pod)) counts.availableReplicas += 1;
    }
    if (!isTerminating(pod)) this.#countRevision(pod, 1);
  }

  #countRevision(pod: Pod, change: 1 | -1): void {
    const { dialect, current, update } = this.#observed;
    const revision = revisionOf(dialect, pod);
    if (revision === current.metadata.name) this.#counts.currentReplicas += change;
    if (revision === update.metadata.name) this.#counts.updatedReplicas += change;
  }

  #isAvailable(pod: Pod): boolean {
    const { set, features } = this.#observed;
    return isPodAvailable(pod, features.minReadySeconds ? (set.spec.minReadySeconds ?? 0) : 0, this.#now);
  }

  #step(action: StatefulSetAction): void {
    this.steps.push({ action, status: this.status() });
  }

  #delete(pod: Pod, cause?: 'failed' | 'succeeded'): void {
    if (!isTerminating(pod)) this.#countRevision(pod, -1);
    this.#step({ kind: 'delete', pod, ...(cause === undefined ? {} : { cause }) });
  }

  /** Ensures a running pod with its identity for every desired ordinal; an ordered set handles one at a time. */
  #ensureReplicas(): 'wait' | 'continue' {
    const { dialect, set } = this.#observed;
    for (const [ordinal, pod] of this.#replicas.entries()) {
      if (pod === undefined) {
        if (this.#create(ordinal) === 'stale claim' || this.#ordered) return 'wait';
        continue;
      }
      if (isPodTerminal(pod) && !isTerminating(pod)) {
        // The replacement has the same name, so it is created after this pod is deleted.
        this.#counts.replicas -= 1;
        this.#delete(pod, pod.status?.phase === 'Failed' ? 'failed' : 'succeeded');
        if (this.#ordered) return 'wait';
        continue;
      }
      if (this.#ordered && (isTerminating(pod) || !isRunningAndReady(pod) || !this.#isAvailable(pod))) return 'wait';
      if (!hasIdentity(dialect, set, pod) || !this.#claimsHaveOwners(pod)) this.#step({ kind: 'update', pod });
    }
    return 'continue';
  }

  #create(ordinal: number): 'created' | 'stale claim' {
    const { dialect, set, reference, claim, features } = this.#observed;
    const { metadata, ...revision } = this.#revisionFor(ordinal);
    const source = { name: metadata.name ?? '', template: templateOf({ metadata, ...revision }) };
    const pod = newStatefulPod({ dialect, set, reference }, ordinal, source);
    const claims = [...claimsOf(set, ordinal).values()].map(({ metadata: { name = '' } }) => claim(name));
    if (features.autoDeletePVC && claims.some((each) => each !== undefined && isStaleClaim(set, pod, each))) {
      return 'stale claim';
    }
    this.#counts.replicas += 1;
    this.#countRevision(pod, 1);
    this.#step({ kind: 'create', pod });
    return 'created';
  }

  /** Pods below the partition get the current revision, even when they are recreated. */
  #revisionFor(ordinal: number): ControllerRevision {
    const { set, current, update } = this.#observed;
    const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
    if (type !== 'RollingUpdate') return update;
    const partition = rollingUpdate === undefined ? (set.status?.currentReplicas ?? 0) : (rollingUpdate.partition ?? 0);
    return ordinal < partition ? current : update;
  }

  #claimsHaveOwners(pod: Pod): boolean {
    const { dialect, set, claim, features } = this.#observed;
    if (!features.autoDeletePVC) return true;
    return [...claimsOf(set, ordinalOf(set, pod) ?? 0).values()].every(({ metadata: { name = '' } }) => {
      const cached = claim(name);
      return cached === undefined || withOwners(dialect, set, pod, cached) === cached;
    });
  }

  /** Deletes from the highest ordinal down; an ordered set waits for each deletion. */
  #deleteCondemned(): 'wait' | 'continue' {
    for (const pod of this.#condemned) if (!this.#claimsHaveOwners(pod)) this.#step({ kind: 'updateClaims', pod });
    for (const pod of [...this.#condemned].reverse()) {
      if (isTerminating(pod)) {
        if (this.#ordered) return 'wait';
        continue;
      }
      const ready = isRunningAndReady(pod) && this.#isAvailable(pod);
      if (this.#ordered && !ready && pod !== this.#firstUnhealthy) return 'wait';
      this.#delete(pod);
      if (this.#ordered) return 'wait';
    }
    return 'continue';
  }

  /** Replaces from the highest ordinal down to the partition. */
  #replaceOutdated(): void {
    const { dialect, set, update, features } = this.#observed;
    const partition = set.spec.updateStrategy?.rollingUpdate?.partition ?? 0;
    const isOutdated = (pod: Pod) => revisionOf(dialect, pod) !== update.metadata.name && !isTerminating(pod);
    let room = features.maxUnavailable ? this.#mayBeUnavailable() : 1;
    for (let ordinal = this.#replicas.length - 1; ordinal >= partition && room > 0; ordinal -= 1) {
      const pod = this.#replicas[ordinal];
      if (pod !== undefined && isOutdated(pod) && !this.#isDeleted(pod)) {
        this.#delete(pod);
        room -= 1;
      } else if (!features.maxUnavailable && !isHealthy(pod)) return;
    }
  }

  /** Whether this plan already deletes the pod, such as a finished pod of an unordered set. */
  #isDeleted(pod: Pod): boolean {
    return this.steps.some(({ action }) => action.kind === 'delete' && action.pod === pod);
  }

  #mayBeUnavailable(): number {
    const { maxUnavailable = 1 } = this.#observed.set.spec.updateStrategy?.rollingUpdate ?? {};
    const most = Math.max(1, scaledValue(maxUnavailable, this.#replicas.length, 'down'));
    return most - this.#replicas.filter((pod) => !isHealthy(pod)).length;
  }
}

const isTerminating = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined;
const isRunningAndReady = (pod: Pod): boolean => pod.status?.phase === 'Running' && isPodReady(pod);
const isHealthy = (pod: Pod | undefined): boolean => pod !== undefined && isRunningAndReady(pod) && !isTerminating(pod);

/** The new status, with a completed update applied; undefined when unchanged. */
export function statusToWrite(set: StatefulSet, status: StatefulSetStatus): StatefulSetStatus | undefined {
  const { replicas, readyReplicas, updatedReplicas, updateRevision = '' } = status;
  const rolling = set.spec.updateStrategy?.type === 'RollingUpdate';
  const complete = rolling && updatedReplicas === replicas && readyReplicas === replicas;
  const next = complete ? { ...status, currentReplicas: replicas, currentRevision: updateRevision } : status;
  return semanticEqual(normalized(set.status), normalized(next)) ? undefined : next;
}

/** Omitted counts equal zero. */
function normalized(status: StatefulSetStatus | undefined): StatefulSetStatus {
  return {
    observedGeneration: 0,
    readyReplicas: 0,
    availableReplicas: 0,
    currentReplicas: 0,
    updatedReplicas: 0,
    collisionCount: 0,
    ...status,
    replicas: status?.replicas ?? -1,
  };
}

/** The oldest unused revisions beyond the history limit. */
export function excessRevisions(
  {
    dialect,
    set,
    pods,
    current,
    update,
  }: Pick<StatefulSetObservation, 'dialect' | 'set' | 'pods' | 'current' | 'update'>,
  revisions: readonly ControllerRevision[],
): ControllerRevision[] {
  const live = new Set([current.metadata.name, update.metadata.name, ...pods.map((pod) => revisionOf(dialect, pod))]);
  const history = revisions.filter(({ metadata }) => !live.has(metadata.name));
  return history.slice(0, Math.max(0, history.length - (set.spec.revisionHistoryLimit ?? 10)));
}
