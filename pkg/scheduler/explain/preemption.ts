import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { PreemptionCandidate, PreemptionReport } from '#scheduler/explain/explanation.js';
import { RefusalGroups } from '#scheduler/explain/refusals.js';
import type { ClusterCopy } from '#scheduler/explain/snapshot.js';
import type { Profile } from '#scheduler/framework/profile.js';
import { chosen, Preemption } from '#scheduler/preemption/preemption.js';
import type { Victims } from '#scheduler/preemption/victims.js';

/** Candidates that are told of, at most. */
const shownCandidates = 10;

/** What evicting pods would do for a pod that fits nowhere. `hopeless`: nodes of which extenders say: nothing. */
export async function preemptionOf(
  copy: ClusterCopy,
  pod: PodInfo,
  profile: Profile,
  hopeless: ReadonlySet<string>,
): Promise<PreemptionReport> {
  const { cluster, nominator, pace } = copy;
  if (profile.preemption === undefined) {
    return { message: 'no plugin of the profile evicts pods', tried: 0, candidates: [], refused: [] };
  }
  const filters = copy.filters(pod, profile);
  const candidates: PreemptionCandidate[] = [];
  const refused = new RefusalGroups();
  // The same on every call: this is told, not done.
  const preemption = new Preemption({ cluster, nominator, random: () => 0 });
  const ineligible = preemption.ineligible(pod, filters);
  if (ineligible !== undefined) return { message: ineligible, tried: 0, candidates: [], refused: [] };
  const steps = preemption.steps(pod, filters, profile.preemption, hopeless);
  let tried = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) {
    const { node, result } = step.value;
    tried++;
    if ('reasons' in result) {
      refused.add({ node: node.name, plugin: 'DefaultPreemption', reasons: result.reasons, resolvable: true });
    } else if (candidates.length < shownCandidates) candidates.push(candidateOf(node, result));
    await pace.step();
  }
  const found = chosen(step.value);
  const end = 'message' in found ? { message: found.message } : { node: found.node.name };
  return { ...end, tried, candidates, refused: refused.list() };
}

function candidateOf({ name }: NodeInfo, { budgets, pods, violations }: Victims): PreemptionCandidate {
  const victims = pods.map(({ namespace, pod, priority }) => ({
    namespace,
    name: pod.metadata.name ?? '',
    priority,
  }));
  return { node: name, victims, protected: violations, budgets };
}
