import { matchesRequiredNodeAffinity, preferredNodeWeight } from '#api/core/v1/affinity/node-selector.js';
import { type FilterPlugin, type ScorePlugin, scaleToMax } from '#scheduler/framework/plugin.js';
import type { PodInfo } from '#scheduler/framework/pod-info.js';

/** The pod's node selector and required node affinity. */
export const nodeAffinity: FilterPlugin = {
  name: 'NodeAffinity',
  events: ['NodeAdd', 'NodeLabels'],
  filter(pod, node) {
    if (node.node !== undefined && matchesRequiredNodeAffinity(pod.pod.spec, node.node)) return undefined;
    return { reasons: ["node(s) didn't match Pod's node affinity/selector"], unresolvable: true };
  },
};

/** Sum of the weights of the preferred terms that the node meets. */
export const preferredNodeAffinity: ScorePlugin = {
  name: 'NodeAffinity',
  weight: 1,
  relevant: (pod) => (preferredTerms(pod)?.length ?? 0) > 0,
  score: (pod, node) => (node.node === undefined ? 0 : preferredNodeWeight(preferredTerms(pod), node.node)),
  normalize: (scores) => scaleToMax(scores, false),
};

function preferredTerms(pod: PodInfo) {
  return pod.pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
}
