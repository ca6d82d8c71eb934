/** Lets extenders review preemption candidates; rules of release 1.24. */
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Consultation } from '#scheduler/decision/extenders.js';
import type { Extender, ProposedVictims } from '#scheduler/framework/extender.js';
import type { Candidate } from '#scheduler/preemption/choice.js';
import { victimsOf } from '#scheduler/preemption/victims.js';

/** Calls the extenders in turn. Rejects if one fails that is not ignorable. */
export async function reviewByExtenders(
  pod: PodInfo,
  candidates: readonly Candidate[],
  { extenders, onFailure, stop }: Consultation,
): Promise<readonly Candidate[]> {
  let remaining = candidates;
  for (const extender of extenders) {
    if (remaining.length === 0) break;
    if (extender.preempt === undefined) continue;
    const byName = new Map(remaining.map((candidate) => [candidate.node.name, candidate]));
    try {
      const proposed = await extender.preempt(pod, byName, stop);
      remaining = [...proposed].flatMap(([name, victims]) => candidateOf(byName.get(name), victims, extender));
    } catch (error) {
      if (!extender.ignorable || stop.aborted) throw error;
      onFailure(extender.name, 'preempt', error);
    }
  }
  return remaining;
}

function candidateOf(
  candidate: Candidate | undefined,
  { pods, violations }: ProposedVictims,
  { ignorable }: Extender,
): readonly Candidate[] {
  if (candidate === undefined) return [];
  if (pods.length > 0) return [{ node: candidate.node, victims: victimsOf(pods, violations) }];
  if (ignorable) return [];
  throw new Error(`expected at least one victim pod on node ${JSON.stringify(candidate.node.name)}`);
}
