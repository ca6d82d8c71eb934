/**
 * Selects pods to preempt for a critical one: as few as possible, lowest QoS class first. Pure. Rules of release 1.24
 * (kubelet preemption/preemption.go).
 */
import { podPriority } from '#api/core/v1/pod/conditions.js';
import { podQosClass } from '#api/core/v1/pod/resources.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { requestOf, type Shortage } from '#nodeagent/admission/fit.js';

/** An amount still to be freed: CPU in thousandths, everything else in whole units. */
interface Need {
  readonly resource: string;
  readonly amount: number;
}

export interface PreemptionInput {
  readonly pod: Pod;
  /** The running pods. */
  readonly others: readonly Pod[];
  readonly shortages: readonly Shortage[];
  readonly isCritical: (pod: Pod) => boolean;
}

/** Preempting all candidates would not suffice. */
export class PreemptionError extends Error {
  override readonly name = 'PreemptionError';
}

/** Throws PreemptionError. */
export function podsToPreempt({ pod, others, shortages, isCritical }: PreemptionInput): Pod[] {
  const needs = shortages.map(
    ({ resource, requested, used, capacity }): Need => ({ resource, amount: requested - (capacity - used) }),
  );
  const mayPreempt = (other: Pod) =>
    (isCritical(pod) && !isCritical(other)) ||
    (pod.spec.priority !== undefined && other.spec.priority !== undefined && podPriority(pod) > podPriority(other));
  const candidates = others.filter(mayPreempt);
  const missing = remainingNeeds(needs, candidates);
  if (missing.length > 0) throw noSetOf(missing);
  const ofClass = (name: string) => candidates.filter((each) => podQosClass(each) === name);
  const [bestEffort, burstable, guaranteed] = ['BestEffort', 'Burstable', 'Guaranteed'].map(ofClass);
  const all = bestEffort ?? [];
  const fromGuaranteed = selectFewest(guaranteed ?? [], remainingNeeds(needs, [...all, ...(burstable ?? [])]));
  const fromBurstable = selectFewest(burstable ?? [], remainingNeeds(needs, [...all, ...fromGuaranteed]));
  const fromBestEffort = selectFewest(all, remainingNeeds(needs, [...fromBurstable, ...fromGuaranteed]));
  return [...fromBestEffort, ...fromBurstable, ...fromGuaranteed];
}

/** Repeatedly selects the pod that covers most of the remaining needs; ties go to smaller requests. */
function selectFewest(pods: readonly Pod[], needs: readonly Need[]): Pod[] {
  const candidates = [...pods];
  const chosen: Pod[] = [];
  let open = needs;
  while (open.length > 0) {
    const [first, ...rest] = candidates;
    if (first === undefined) throw noSetOf(open);
    let best = first;
    for (const pod of rest) {
      const nearer = distance(pod, open) - distance(best, open);
      if (nearer < 0 || (nearer === 0 && asksForLess(pod, best))) best = pod;
    }
    open = remainingNeeds(open, [best]);
    chosen.push(best);
    candidates.splice(candidates.indexOf(best), 1);
  }
  return chosen;
}

function remainingNeeds(needs: readonly Need[], pods: readonly Pod[]): Need[] {
  return needs
    .map(({ resource, amount }) => ({
      resource,
      amount: pods.reduce((open, pod) => open - requestOf(pod, resource), amount),
    }))
    .filter(({ amount }) => amount > 0);
}

/** All needs have equal weight, whatever their size. */
function distance(pod: Pod, needs: readonly Need[]): number {
  return needs.reduce((sum, { resource, amount }) => {
    const open = Math.max(0, amount - requestOf(pod, resource));
    return sum + (open / amount) ** 2;
  }, 0);
}

function asksForLess(a: Pod, b: Pod): boolean {
  for (const resource of ['memory', 'cpu']) {
    const difference = requestOf(a, resource) - requestOf(b, resource);
    if (difference !== 0) return difference < 0;
  }
  return true;
}

function noSetOf(needs: readonly Need[]): PreemptionError {
  const text = needs.map(({ resource, amount }) => `(res: ${resource}, q: ${amount}), `).join('');
  return new PreemptionError(`no set of running pods found to reclaim resources: [${text}]`);
}
