/**
 * One pass over a stateful set: which pods to create, repair and delete, in which order, and what the status says. The
 * decisions are those of release 1.24 (pkg/controller/statefulset/stateful_set_control.go). Pure.
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
  /** Makes the set a pod's manager. */
  readonly reference: OwnerReference;
  /** The set's own, with names of its. */
  readonly pods: readonly Pod[];
  readonly current: ControllerRevision;
  readonly update: ControllerRevision;
  readonly collisionCount: number;
  readonly features: StatefulSetFeatures;
  /** The cached claim of that name in the set's namespace. */
  readonly claim: (name: string) => PersistentVolumeClaim | undefined;
}

export type StatefulSetAction =
  | { readonly kind: 'create'; readonly pod: Pod }
  /** Why: it ended though it must go on; absent: it is not wanted any more, or out of date. */
  | { readonly kind: 'delete'; readonly pod: Pod; readonly because?: 'failed' | 'succeeded' }
  /** Gives the pod its identity back, and its claims their owners. */
  | { readonly kind: 'update'; readonly pod: Pod }
  /** Gives the pod's claims their owners. */
  | { readonly kind: 'updateClaims'; readonly pod: Pod };

export interface StatefulSetStep {
  readonly action: StatefulSetAction;
  /** Once the action has been carried out. */
  readonly status: StatefulSetStatus;
}

export interface StatefulSetPlan {
  /** Before any action. */
  readonly status: StatefulSetStatus;
  /** In order; after a failure the rest is not to be tried. */
  readonly steps: readonly StatefulSetStep[];
}

/** `now` in milliseconds. */
export function planStatefulSet(observed: StatefulSetObservation, now: number): StatefulSetPlan {
  const pass = new Pass(observed, now);
  const before = pass.status();
  if (observed.set.metadata.deletionTimestamp === undefined) pass.run();
  return { status: before, steps: pass.steps };
}

/** The pods of a set while a plan is made. */
class Pass {
  readonly steps: StatefulSetStep[] = [];
  readonly #observed: StatefulSetObservation;
  readonly #now: number;
  readonly #ordered: boolean;
  /** By ordinal; absent where there is none yet. */
  readonly #replicas: (Pod | undefined)[];
  /** Pods beyond the wanted ordinals, lowest first. */
  readonly #condemned: readonly Pod[];
  /** Of all, in the order of their ordinals; 'missing' where that is one without a pod. */
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
    if (this.#keepReplicas() === 'wait') return;
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

  #delete(pod: Pod, because?: 'failed' | 'succeeded'): void {
    if (!isTerminating(pod)) this.#countRevision(pod, -1);
    this.#step({ kind: 'delete', pod, ...(because === undefined ? {} : { because }) });
  }

  /** Every wanted ordinal has a pod that runs and has its identity; an ordered set goes from one to the next. */
  #keepReplicas(): 'wait' | 'go on' {
    const { dialect, set } = this.#observed;
    for (const [ordinal, pod] of this.#replicas.entries()) {
      if (pod === undefined) {
        if (this.#create(ordinal) === 'stale claim' || this.#ordered) return 'wait';
        continue;
      }
      if (isPodTerminal(pod) && !isTerminating(pod)) {
        // Its successor has the same name, and comes when this one is gone.
        this.#counts.replicas -= 1;
        this.#delete(pod, pod.status?.phase === 'Failed' ? 'failed' : 'succeeded');
        if (this.#ordered) return 'wait';
        continue;
      }
      if (this.#ordered && (isTerminating(pod) || !isRunningAndReady(pod) || !this.#isAvailable(pod))) return 'wait';
      if (!hasIdentity(dialect, set, pod) || !this.#claimsHaveOwners(pod)) this.#step({ kind: 'update', pod });
    }
    return 'go on';
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

  /** Pods below the partition stay at the current revision, also when they are made anew. */
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

  /** From the highest ordinal down; an ordered set waits for each to be gone. */
  #deleteCondemned(): 'wait' | 'go on' {
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
    return 'go on';
  }

  /** From the highest ordinal down to the partition. */
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

  /** Of an unordered set, one that has ended may have been deleted in this very pass. */
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

/** The status to write: completed when the update is; undefined when the set has it already. */
export function statusToWrite(set: StatefulSet, status: StatefulSetStatus): StatefulSetStatus | undefined {
  const { replicas, readyReplicas, updatedReplicas, updateRevision = '' } = status;
  const rolling = set.spec.updateStrategy?.type === 'RollingUpdate';
  const complete = rolling && updatedReplicas === replicas && readyReplicas === replicas;
  const wanted = complete ? { ...status, currentReplicas: replicas, currentRevision: updateRevision } : status;
  return semanticEqual(normalized(set.status), normalized(wanted)) ? undefined : wanted;
}

/** Zero counts are left out on the wire. */
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

/** The revisions that may go: beyond the limit, the oldest of those that no pod and no status needs. */
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
