/**
 * Warnings about the existing pods of a namespace whose enforced level becomes stricter. Bounded in pods and time, as in
 * 1.24: single pods and one pod of each controller come first.
 */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { checkedPod } from '#apiserver/admission/podsecurity/standards/check.js';
import { shownReasons, violationsOf } from '#apiserver/admission/podsecurity/standards/evaluation.js';
import { type LevelVersion, shownLevel } from '#apiserver/admission/podsecurity/standards/level.js';

export interface ExistingPods {
  readonly namespace: string;
  /** The new level. */
  readonly level: LevelVersion;
  /** Reads each pod of the namespace when it is needed. */
  readonly pods: readonly (() => Pod)[];
  readonly exemptRuntimeClasses: ReadonlySet<string>;
  readonly dialect: Dialect;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** End of the time for all pods, on the monotonic clock. */
  readonly dueMs: number;
  /** Called regularly; lets other work run. */
  readonly pause: () => Promise<void> | undefined;
  readonly isCancelled: () => boolean;
}

/** The maximum number of pods that are checked. */
const maxExistingPods = 3000;

/** The time for all pods of a namespace, in milliseconds. */
export const existingPodsMs = 1000;

/** Resolves with the warnings: what was not checked, then the violations with one pod of each. */
export async function existingPodsWarnings(existing: ExistingPods): Promise<readonly string[]> {
  const { namespace, level, dialect, pause } = existing;
  const isOver = () => existing.clock.monotonic() >= existing.dueMs || existing.isCancelled();
  const { first, total } = await prioritized(existing, isOver);
  const byReasons = new Map<string, { name: string; count: number }>();
  const limit = Math.min(first.length, maxExistingPods);
  let checked = 0;
  for (const { metadata, spec } of first.slice(0, limit)) {
    await pause();
    const violations = violationsOf(checkedPod(metadata, spec, dialect), level);
    checked++;
    if (violations.length > 0) count(byReasons, shownReasons(violations), metadata.name ?? '');
    if (isOver()) break;
  }
  const warnings: string[] = [];
  if (checked < total) {
    warnings.push(`new PodSecurity enforce level only checked against the first ${checked} of ${total} existing pods`);
  }
  if (byReasons.size === 0) return warnings;
  const shown = shownLevel(level);
  warnings.push(`existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${shown}"`);
  return [...warnings, ...[...byReasons].map(summary).sort()];
}

/** At least the pods that are checked, in their order, without exempt ones; and the number of all of them. */
async function prioritized(
  { pods, exemptRuntimeClasses, pause }: ExistingPods,
  isOver: () => boolean,
): Promise<{ readonly first: readonly Pod[]; readonly total: number }> {
  const [first, replicas]: [Pod[], Pod[]] = [[], []];
  const controllers = new Set<string>();
  let exempt = 0;
  for (const read of pods) {
    await pause();
    const pod = read();
    if (exemptRuntimeClasses.has(pod.spec.runtimeClassName ?? '')) {
      exempt++;
      continue;
    }
    const uid = pod.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
    const list = uid === undefined || !controllers.has(uid) ? first : replicas;
    // A namespace may have more pods than memory has room for at once.
    if (list.length < maxExistingPods) list.push(pod);
    if (uid !== undefined) controllers.add(uid);
    if (isOver()) break;
  }
  return { first: [...first, ...replicas], total: pods.length - exempt };
}

function count(byReasons: Map<string, { name: string; count: number }>, reasons: string, name: string): void {
  const group = byReasons.get(reasons);
  if (group === undefined) byReasons.set(reasons, { name, count: 1 });
  else {
    group.count++;
    if (name < group.name) group.name = name;
  }
}

function summary([reasons, { name, count: pods }]: [
  string,
  { readonly name: string; readonly count: number },
]): string {
  if (pods === 1) return `${name}: ${reasons}`;
  return `${name} (and ${pods - 1} other ${pods === 2 ? 'pod' : 'pods'}): ${reasons}`;
}
