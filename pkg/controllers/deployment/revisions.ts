/** Revision numbers and the annotations that a deployment and its ReplicaSets carry. Pure. */
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { parseInt64 } from '#apimachinery/int64.js';
import { maxSurge, replicasOf } from '#controllers/deployment/replica-counts.js';

/** Longest revision history kept in the annotation, in characters. */
const maxHistoryLength = 2000;

/** The object's revision number, an integer of 64 bits: zero when it has none, undefined when it is no number. */
export function revisionOf(dialect: Dialect, object: Deployment | ReplicaSet): bigint | undefined {
  const text = object.metadata.annotations?.[dialect.annotations.deploymentRevision];
  return text === undefined ? 0n : parseInt64(text);
}

/** The revision after those of all the sets. After the largest of 64 bits comes the smallest, as in 1.24. */
export function nextRevision(dialect: Dialect, sets: readonly ReplicaSet[]): bigint {
  let highest = 0n;
  for (const set of sets) {
    const revision = revisionOf(dialect, set) ?? 0n;
    if (revision > highest) highest = revision;
  }
  return BigInt.asIntN(64, highest + 1n);
}

/** Orders sets by revision, lowest first; those without a number and equal ones stay as they are. */
export function byRevision(dialect: Dialect): (a: ReplicaSet, b: ReplicaSet) => number {
  return (a, b) => {
    const left = revisionOf(dialect, a);
    const right = revisionOf(dialect, b);
    if (left === undefined || right === undefined || left === right) return 0;
    return left < right ? -1 : 1;
  };
}

/** A number in an annotation, undefined when absent or not understood. */
export function countAnnotation(set: ReplicaSet, name: string): number | undefined {
  const text = set.metadata.annotations?.[name] ?? '';
  return /^[0-9]{1,10}$/.test(text) ? Number(text) : undefined;
}

/** Annotations of a deployment that are its own business. */
export function isPrivate(dialect: Dialect, name: string): boolean {
  const { lastApplied, deploymentRevision, revisionHistory, desiredReplicas, maxReplicas, rollbackTo } =
    dialect.annotations;
  return [lastApplied, deploymentRevision, revisionHistory, desiredReplicas, maxReplicas, rollbackTo].includes(name);
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
  revision: bigint,
): Record<string, string> {
  const { deploymentRevision, revisionHistory } = dialect.annotations;
  const result: Record<string, string> = { ...current };
  for (const [name, value] of Object.entries(deployment.metadata.annotations ?? {})) {
    if (!isPrivate(dialect, name)) result[name] = value;
  }
  const old = current[deploymentRevision];
  // What is no number is left alone, as it is in 1.24.
  const oldRevision = old === undefined || old === '' ? 0n : parseInt64(old);
  if (oldRevision === undefined) return { ...current };
  if (oldRevision >= revision) return result;
  result[deploymentRevision] = String(revision);
  if (old !== undefined && old !== '') result[revisionHistory] = extendHistory(current[revisionHistory], old);
  return result;
}

/** Appends the revision and drops as many of the first ones as keep the text short; one pass, as anybody may write it. */
function extendHistory(history: string | undefined, revision: string): string {
  if (history === undefined || history === '') return revision;
  const extended = `${history},${revision}`;
  if (extended.length <= maxHistoryLength) return extended;
  const comma = extended.indexOf(',', extended.length - maxHistoryLength - 1);
  return comma < 0 ? history : extended.slice(comma + 1);
}
