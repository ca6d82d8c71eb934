/** Revision numbers and the annotations that a deployment and its ReplicaSets carry. Pure. */
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { maxSurge, replicasOf } from '#controllers/deployment/replica-counts.js';

/** Longest revision history kept in the annotation, in characters. */
const maxHistoryLength = 2000;

/** The set's revision number; zero when it has none. */
export function revisionOf(dialect: Dialect, object: Deployment | ReplicaSet): number {
  const text = object.metadata.annotations?.[dialect.annotations.deploymentRevision] ?? '';
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : 0;
}

export function maxRevision(dialect: Dialect, sets: readonly ReplicaSet[]): number {
  return Math.max(0, ...sets.map((set) => revisionOf(dialect, set)));
}

/** A number in an annotation, undefined when absent or not understood. */
export function countAnnotation(set: ReplicaSet, name: string): number | undefined {
  const text = set.metadata.annotations?.[name] ?? '';
  return /^[0-9]{1,10}$/.test(text) ? Number(text) : undefined;
}

/** Annotations of a deployment that are its own business. */
function isPrivate(dialect: Dialect, name: string): boolean {
  const { lastApplied, deploymentRevision, revisionHistory, desiredReplicas, maxReplicas } = dialect.annotations;
  return [lastApplied, deploymentRevision, revisionHistory, desiredReplicas, maxReplicas].includes(name);
}

/** The sizes for which the set was scaled last: they tell a scaling of the deployment from a rollout. */
export function sizeAnnotations(dialect: Dialect, deployment: Deployment): Record<string, string> {
  const wanted = replicasOf(deployment);
  return {
    [dialect.annotations.desiredReplicas]: String(wanted),
    [dialect.annotations.maxReplicas]: String(wanted + maxSurge(deployment)),
  };
}

/**
 * The annotations of the newest ReplicaSet: those of the deployment, and its revision, with the earlier revisions of
 * a set that becomes the newest again kept as history.
 */
export function newestAnnotations(
  dialect: Dialect,
  deployment: Deployment,
  current: Readonly<Record<string, string>>,
  revision: number,
): Record<string, string> {
  const { deploymentRevision, revisionHistory } = dialect.annotations;
  const result: Record<string, string> = { ...current };
  for (const [name, value] of Object.entries(deployment.metadata.annotations ?? {})) {
    if (!isPrivate(dialect, name)) result[name] = value;
  }
  const old = current[deploymentRevision];
  if (old !== undefined && Number(old) >= revision) return result;
  result[deploymentRevision] = String(revision);
  if (old !== undefined && old !== '') result[revisionHistory] = extendHistory(current[revisionHistory], old);
  return result;
}

function extendHistory(history: string | undefined, revision: string): string {
  const entries = history === undefined || history === '' ? [] : history.split(',');
  entries.push(revision);
  while (entries.length > 1 && entries.join(',').length > maxHistoryLength) entries.shift();
  return entries.join(',');
}
