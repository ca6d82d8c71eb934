/** Revision numbers and annotations of deployments and their ReplicaSets. Pure. */
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { parseInt64 } from '#apimachinery/int64.js';
import { maxSurge, replicasOf } from '#controllers/deployment/replica-counts.js';

/** The maximum length of the revision history annotation, in characters. */
const maxHistoryLength = 2000;

/** The 64-bit revision: zero when absent, undefined when malformed. */
export function revisionOf(dialect: Dialect, object: Deployment | ReplicaSet): bigint | undefined {
  const text = object.metadata.annotations?.[dialect.annotations.deploymentRevision];
  return text === undefined ? 0n : parseInt64(text);
}

/** The highest revision plus one, which wraps around as in 1.24. */
export function nextRevision(dialect: Dialect, sets: readonly ReplicaSet[]): bigint {
  let highest = 0n;
  for (const set of sets) {
    const revision = revisionOf(dialect, set) ?? 0n;
    if (revision > highest) highest = revision;
  }
  return BigInt.asIntN(64, highest + 1n);
}

/** Lowest revision first; malformed and equal revisions keep their order. */
export function byRevision(dialect: Dialect): (a: ReplicaSet, b: ReplicaSet) => number {
  return (a, b) => {
    const left = revisionOf(dialect, a);
    const right = revisionOf(dialect, b);
    if (left === undefined || right === undefined || left === right) return 0;
    return left < right ? -1 : 1;
  };
}

/** A number in an annotation; undefined when absent or malformed. */
export function countAnnotation(set: ReplicaSet, name: string): number | undefined {
  const text = set.metadata.annotations?.[name] ?? '';
  return /^[0-9]{1,10}$/.test(text) ? Number(text) : undefined;
}

/** Annotations that deployments do not share with their ReplicaSets. */
export function isPrivate(dialect: Dialect, name: string): boolean {
  const { lastApplied, deploymentRevision, revisionHistory, desiredReplicas, maxReplicas, rollbackTo } =
    dialect.annotations;
  return [lastApplied, deploymentRevision, revisionHistory, desiredReplicas, maxReplicas, rollbackTo].includes(name);
}

/** Records the deployment's size at the last scaling, to distinguish scaling from a rollout. */
export function sizeAnnotations(dialect: Dialect, deployment: Deployment): Record<string, string> {
  const desired = replicasOf(deployment);
  return {
    [dialect.annotations.desiredReplicas]: String(desired),
    [dialect.annotations.maxReplicas]: String(desired + maxSurge(deployment)),
  };
}

/**
 * The annotations of the newest ReplicaSet: the deployment's annotations, the revision, and the history of earlier
 * revisions when an old set becomes the newest again.
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
  // As in 1.24, a malformed revision stays unchanged.
  const oldRevision = old === undefined || old === '' ? 0n : parseInt64(old);
  if (oldRevision === undefined) return { ...current };
  if (oldRevision >= revision) return result;
  result[deploymentRevision] = String(revision);
  if (old !== undefined && old !== '') result[revisionHistory] = extendHistory(current[revisionHistory], old);
  return result;
}

/** Appends the revision, and drops the oldest ones beyond the length limit in one pass. Users can write any text. */
function extendHistory(history: string | undefined, revision: string): string {
  if (history === undefined || history === '') return revision;
  const extended = `${history},${revision}`;
  if (extended.length <= maxHistoryLength) return extended;
  const comma = extended.indexOf(',', extended.length - maxHistoryLength - 1);
  return comma < 0 ? history : extended.slice(comma + 1);
}
