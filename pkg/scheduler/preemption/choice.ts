import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { Victims } from '#scheduler/preemption/victims.js';

export interface Candidate {
  readonly node: NodeInfo;
  readonly victims: Victims;
}

/**
 * The node whose victims cost least: fewest protected by budgets, then the lowest top priority, the lowest sum of
 * priorities, the fewest victims, and the latest start; the first among equals. Rules of release 1.24.
 */
export function cheapest(candidates: readonly Candidate[]): Candidate | undefined {
  let best: Candidate | undefined;
  for (const candidate of candidates) if (best === undefined || isCheaper(candidate, best)) best = candidate;
  return best;
}

function isCheaper({ victims: a }: Candidate, { victims: b }: Candidate): boolean {
  if (a.violations !== b.violations) return a.violations < b.violations;
  if (a.highest !== b.highest) return a.highest < b.highest;
  if (a.sum !== b.sum) return a.sum < b.sum;
  if (a.pods.length !== b.pods.length) return a.pods.length < b.pods.length;
  return a.firstStart > b.firstStart;
}
