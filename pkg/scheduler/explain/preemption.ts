import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import { checkWithNominated } from '#scheduler/decision/nominated.js';
import type { PreemptionCandidate, PreemptionReport } from '#scheduler/explain/explanation.js';
import { RefusalGroups } from '#scheduler/explain/refusals.js';
import type { ClusterCopy } from '#scheduler/explain/snapshot.js';
import type { Profile } from '#scheduler/framework/profile.js';
import { Preemption } from '#scheduler/preemption/preemption.js';
import { selectVictims, type Victims } from '#scheduler/preemption/victims.js';

/** Nodes and candidates that are told of, at most. */
const triedNodes = 200;
const shownCandidates = 10;

/** What evicting pods would do. `nodes`: those that refused the pod and that evicting could help. */
export async function preemptionOf(
  copy: ClusterCopy,
  pod: PodInfo,
  profile: Profile,
  nodes: readonly NodeInfo[],
): Promise<PreemptionReport> {
  const { cluster, nominator, pace } = copy;
  if (profile.preemption === undefined) {
    return { message: 'no plugin of the profile evicts pods', tried: 0, candidates: [], refused: [] };
  }
  const filters = copy.filters(pod, profile);
  const some = nodes.slice(0, triedNodes);
  const candidates: PreemptionCandidate[] = [];
  const refused = new RefusalGroups();
  if (pod.pod.spec.preemptionPolicy !== 'Never') {
    for (const node of some) {
      const result = victimsOn(copy, pod, profile, node);
      if ('reasons' in result) {
        refused.add({ node: node.name, plugin: 'DefaultPreemption', reasons: result.reasons, resolvable: true });
      } else if (candidates.length < shownCandidates) candidates.push(candidateOf(node, result));
      await pace.step();
    }
  }
  // The same on every call: this is told, not done.
  const found = new Preemption({ cluster, nominator, random: () => 0 }).find(pod, filters, profile.preemption);
  const end = 'message' in found ? { message: found.message } : { node: found.node.name };
  return { ...end, tried: some.length, candidates, refused: refused.list() };
}

/** Who would have to go from the node; or why that does not help. */
function victimsOn(copy: ClusterCopy, pod: PodInfo, profile: Profile, node: NodeInfo) {
  const { cluster, nominator } = copy;
  const filters = copy.filters(pod, profile);
  return cluster.tentatively(node, (change) => {
    const check = () => checkWithNominated(cluster, nominator, filters, pod, node, () => filters.checkTentative(node));
    return selectVictims(pod, node, { ...change, check }, cluster.objects.budgets());
  });
}

function candidateOf({ name }: NodeInfo, { pods, violations }: Victims): PreemptionCandidate {
  const victims = pods.map(({ namespace, pod, priority }) => ({
    namespace,
    name: pod.metadata.name ?? '',
    priority,
  }));
  return { node: name, victims, protected: violations };
}
