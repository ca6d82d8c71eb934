/**
 * Plans one reconcile of a deployment: ReplicaSets to create, update and delete, and the status. Rules of release 1.24
 * (pkg/controller/deployment). Pure.
 */
import type { Deployment, DeploymentStatus, ReplicaSet } from '#api/apps/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import {
  type Conditions,
  condition,
  deadlineAt,
  failureCondition,
  hasProgressDeadline,
  isComplete,
  makeCondition,
  pauseCondition,
  progressCondition,
  withCondition,
} from '#controllers/deployment/conditions.js';
import { Draft, type ReplicaSetUpdate } from '#controllers/deployment/draft.js';
import {
  actualReplicas,
  availableReplicas,
  maxUnavailable,
  newReplicaSetSize,
  readyReplicas,
  replicasOf,
  specReplicas,
} from '#controllers/deployment/replica-counts.js';
import { byRevision, newestAnnotations, nextRevision, sizeAnnotations } from '#controllers/deployment/revisions.js';
import { planRollback, type Rollback } from '#controllers/deployment/rollback.js';
import { isScalingEvent, planScale, stepRecreate, stepRollingUpdate } from '#controllers/deployment/scaling.js';
import { sameTemplate, templateHash } from '#controllers/deployment/template-hash.js';
import { byCreation } from '#controllers/framework/order.js';

export interface DeploymentObservation {
  readonly dialect: Dialect;
  readonly deployment: Deployment;
  /** The deployment's sets. */
  readonly replicaSets: readonly ReplicaSet[];
  /** Whether pods of sets other than `newest` run; called for the Recreate strategy only. */
  readonly oldPodsRun: (newest: ReplicaSet | undefined) => boolean;
}

export interface DeploymentPlan {
  /** When present, nothing else is done. */
  readonly rollback?: Rollback;
  /** The set to create, without owner reference. Its name prevents a second create. */
  readonly create?: ReplicaSet;
  /** In the order of writing. */
  readonly updates: readonly ReplicaSetUpdate[];
  readonly deletes: readonly ReplicaSet[];
  /** The deployment with new status and revision annotation; absent when unchanged. */
  readonly status?: Deployment;
  /** Milliseconds until the progress deadline. */
  readonly requeueAfterMs?: number;
}

export function planDeployment(observed: DeploymentObservation, now: number): DeploymentPlan {
  const { dialect, deployment, replicaSets } = observed;
  const newest = findNewest(dialect, deployment, replicaSets);
  const draft = new Draft(dialect, deployment, replicaSets, newest);
  const start: State = { observed, draft, conditions: deployment.status?.conditions ?? [], now };
  if (deployment.metadata.deletionTimestamp !== undefined) return finish(start, { step: 'count' });
  start.conditions = pauseCondition(deployment, start.conditions, now);
  if (deployment.spec.paused === true) {
    adoptNewest(start);
    planScale(dialect, deployment, draft);
    return finish(start, { step: 'count', deletes: cleanUp(observed, draft) });
  }
  const rollback = newest === undefined ? undefined : planRollback(dialect, deployment, replicaSets);
  if (rollback !== undefined) return { rollback, updates: [], deletes: [] };
  if (isScalingEvent(dialect, deployment, replicaSets)) {
    adoptNewest(start);
    planScale(dialect, deployment, draft);
    return finish(start, { step: 'count' });
  }
  return deployment.spec.strategy?.type === 'Recreate' ? planRecreate(start) : planRollingUpdate(start);
}

interface State {
  readonly observed: DeploymentObservation;
  readonly draft: Draft;
  conditions: Conditions;
  readonly now: number;
}

interface Ending {
  /** `rollout` updates the progress; `count` only counts pods, as while paused, scaling or being deleted. */
  readonly step: 'rollout' | 'count';
  readonly create?: ReplicaSet;
  readonly deletes?: readonly ReplicaSet[];
}

function planRollingUpdate(state: State): DeploymentPlan {
  const { observed, draft } = state;
  if (draft.newest === undefined) return finish(state, { step: 'rollout', create: createNewest(state) });
  adoptNewest(state);
  if (stepRollingUpdate(observed.deployment, draft)) return finish(state, { step: 'rollout' });
  return finish(state, { step: 'rollout', deletes: cleanUpWhenComplete(observed, draft) });
}

function planRecreate(state: State): DeploymentPlan {
  const { observed, draft } = state;
  if (draft.newest !== undefined) adoptNewest(state);
  const running = observed.oldPodsRun(draft.newest);
  if (stepRecreate(draft, running) === 'stopping') return finish(state, { step: 'rollout' });
  const { newest } = draft;
  if (newest === undefined) return finish(state, { step: 'rollout', create: createNewest(state) });
  if (replicasOf(newest) !== replicasOf(observed.deployment)) draft.scale(newest, replicasOf(observed.deployment));
  return finish(state, { step: 'rollout', deletes: cleanUpWhenComplete(observed, draft) });
}

/** The oldest set with the deployment's template. */
function findNewest(
  dialect: Dialect,
  deployment: Deployment,
  replicaSets: readonly ReplicaSet[],
): ReplicaSet | undefined {
  return [...replicaSets]
    .sort(byCreation)
    .find((set) => sameTemplate(dialect, set.spec.template ?? {}, deployment.spec.template));
}

/** Updates the annotations and minReadySeconds of the existing newest set. */
function adoptNewest(state: State): void {
  const { observed, draft, now } = state;
  const { dialect, deployment } = observed;
  const { newest } = draft;
  if (newest === undefined) return;
  const revision = nextRevision(dialect, draft.old);
  const annotations = newestAnnotations(dialect, deployment, newest.metadata.annotations ?? {}, revision);
  const { minReadySeconds: _old, ...spec } = newest.spec;
  const { minReadySeconds } = deployment.spec;
  draft.replace({
    ...newest,
    metadata: { ...newest.metadata, annotations },
    spec: { ...spec, ...(minReadySeconds === undefined ? {} : { minReadySeconds }) },
  });
  if (hasProgressDeadline(deployment) && condition(state.conditions, 'Progressing') === undefined) {
    const message = `Found new replica set "${newest.metadata.name}"`;
    state.conditions = withCondition(
      state.conditions,
      makeCondition('Progressing', 'True', 'NewReplicaSetFound', message, now),
    );
  }
}

function createNewest(state: State): ReplicaSet {
  const { observed, draft, now } = state;
  const { dialect, deployment } = observed;
  const { template, selector, minReadySeconds } = deployment.spec;
  const hash = templateHash(dialect, template, deployment.status?.collisionCount);
  const hashLabel = { [dialect.labels.podTemplateHash]: hash };
  const labels = { ...template.metadata?.labels, ...hashLabel };
  const name = `${deployment.metadata.name}-${hash}`;
  const annotations = {
    ...newestAnnotations(dialect, deployment, {}, nextRevision(dialect, draft.old)),
    ...sizeAnnotations(dialect, deployment),
  };
  if (hasProgressDeadline(deployment)) {
    const message = `Created new replica set "${name}"`;
    state.conditions = withCondition(
      state.conditions,
      makeCondition('Progressing', 'True', 'NewReplicaSetCreated', message, now),
    );
  }
  return {
    metadata: { name, namespace: deployment.metadata.namespace ?? '', labels, annotations },
    spec: {
      replicas: newReplicaSetSize(deployment, specReplicas(draft.all), 0),
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector?.matchLabels, ...hashLabel } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

function cleanUpWhenComplete(observed: DeploymentObservation, draft: Draft): readonly ReplicaSet[] {
  const { deployment } = observed;
  return isComplete(deployment, deployment.status ?? {}) ? cleanUp(observed, draft) : [];
}

/** Old sets beyond the history limit, lowest revisions first, without sets that still have pods. */
function cleanUp({ dialect, deployment }: DeploymentObservation, draft: Draft): readonly ReplicaSet[] {
  const limit = deployment.spec.revisionHistoryLimit;
  if (limit === undefined || limit === 2 ** 31 - 1) return [];
  const candidates = draft.old.filter((set) => set.metadata.deletionTimestamp === undefined);
  const surplus = candidates.length - limit;
  if (surplus <= 0) return [];
  return candidates
    .sort(byRevision(dialect))
    .slice(0, surplus)
    .filter(
      (set) =>
        (set.status?.replicas ?? 0) === 0 &&
        replicasOf(set) === 0 &&
        (set.metadata.generation ?? 0) <= (set.status?.observedGeneration ?? 0),
    );
}

function finish(state: State, { step, create, deletes = [] }: Ending): DeploymentPlan {
  const { observed, draft, now } = state;
  const { deployment, dialect } = observed;
  const counts = countReplicas(deployment, draft);
  let conditions = withCondition(state.conditions, availability(deployment, counts, now));
  if (step === 'rollout') {
    // Creating the newest set has already updated Progressing.
    if (create === undefined) conditions = progressCondition(deployment, counts, conditions, draft.newest, now);
    conditions = failureCondition(conditions, draft.newest, draft.all);
  }
  const status: DeploymentStatus = { ...counts, conditions: [...conditions] };
  const revised = withRevision(dialect, deployment, create ?? draft.newest);
  const changed = revised !== deployment || !semanticEqual(withZeros(deployment.status), status);
  // The deadline applies to rollouts only.
  const waits = step === 'rollout' && !isComplete(deployment, status);
  const deadlineMs = waits ? deadlineAt(deployment, conditions) : undefined;
  return {
    updates: draft.updates(),
    deletes,
    ...(create === undefined ? {} : { create }),
    ...(changed ? { status: { ...revised, status } } : {}),
    ...(deadlineMs === undefined ? {} : { requeueAfterMs: Math.max(0, deadlineMs - now) + 1000 }),
  };
}

function countReplicas(deployment: Deployment, draft: Draft): DeploymentStatus {
  const available = availableReplicas(draft.all);
  const { collisionCount } = deployment.status ?? {};
  return {
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: actualReplicas(draft.all),
    updatedReplicas: draft.newest === undefined ? 0 : actualReplicas([draft.newest]),
    readyReplicas: readyReplicas(draft.all),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, specReplicas(draft.all) - available),
    ...(collisionCount === undefined ? {} : { collisionCount }),
  };
}

/** Omitted counts equal zero. */
function withZeros(status: DeploymentStatus | undefined): DeploymentStatus {
  return {
    observedGeneration: 0,
    replicas: 0,
    updatedReplicas: 0,
    readyReplicas: 0,
    availableReplicas: 0,
    unavailableReplicas: 0,
    ...status,
  };
}

function availability(deployment: Deployment, counts: DeploymentStatus, now: number) {
  const enough = (counts.availableReplicas ?? 0) >= replicasOf(deployment) - maxUnavailable(deployment);
  return enough
    ? makeCondition('Available', 'True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.', now)
    : makeCondition(
        'Available',
        'False',
        'MinimumReplicasUnavailable',
        'Deployment does not have minimum availability.',
        now,
      );
}

/** Copies the newest set's revision to the deployment; returns the same object when unchanged. */
function withRevision(dialect: Dialect, deployment: Deployment, newest: ReplicaSet | undefined): Deployment {
  const { deploymentRevision } = dialect.annotations;
  const revision = newest?.metadata.annotations?.[deploymentRevision];
  const { metadata } = deployment;
  if (revision === undefined || metadata.annotations?.[deploymentRevision] === revision) return deployment;
  return {
    ...deployment,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [deploymentRevision]: revision } },
  };
}
