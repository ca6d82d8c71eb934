/** What extenders make of the nodes on which others could be evicted. Rules of release 1.24. */
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Consultation } from '#scheduler/decision/extenders.js';
import type { Extender, ProposedVictims } from '#scheduler/framework/extender.js';
import type { Candidate } from '#scheduler/preemption/choice.js';
import { victimsOf } from '#scheduler/preemption/victims.js';

/** Asks one after the other. Rejects when one fails that is not ignorable. */
export async function candidatesOfExtenders(
  pod: PodInfo,
  candidates: readonly Candidate[],
  { extenders, onFailure, stop }: Consultation,
): Promise<readonly Candidate[]> {
  let left = candidates;
  for (const extender of extenders) {
    if (left.length === 0) break;
    if (extender.preempt === undefined) continue;
    const byName = new Map(left.map((candidate) => [candidate.node.name, candidate]));
    try {
      const proposed = await extender.preempt(pod, byName, stop);
      left = [...proposed].flatMap(([name, victims]) => candidateOf(byName.get(name), victims, extender));
    } catch (error) {
      if (!extender.ignorable || stop.aborted) throw error;
      onFailure(extender.name, 'preempt', error);
    }
  }
  return left;
}

function candidateOf(
  asked: Candidate | undefined,
  { pods, violations }: ProposedVictims,
  { ignorable }: Extender,
): readonly Candidate[] {
  if (asked === undefined) return [];
  if (pods.length > 0) return [{ node: asked.node, victims: victimsOf(pods, violations) }];
  if (ignorable) return [];
  throw new Error(`expected at least one victim pod on node ${JSON.stringify(asked.node.name)}`);
}
