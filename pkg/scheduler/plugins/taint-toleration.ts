import { findUntoleratedTaint, toleratedBy } from '#api/core/v1/node/taints.js';
import { type FilterPlugin, type ScorePlugin, scaleToMax } from '#scheduler/framework/plugin.js';

/** The pod tolerates the node's NoSchedule and NoExecute taints. */
export const taintToleration: FilterPlugin = {
  name: 'TaintToleration',
  events: ['NodeAdd', 'NodeTaints'],
  filter(pod, node) {
    const taints = node.node?.spec.taints;
    if (taints === undefined) return undefined;
    const taint = findUntoleratedTaint(taints, pod.pod.spec.tolerations, ['NoSchedule', 'NoExecute']);
    if (taint === undefined) return undefined;
    return { reasons: [`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`], unresolvable: true };
  },
};

/** Prefers nodes with few PreferNoSchedule taints that the pod does not tolerate. */
export const preferUntainted: ScorePlugin = {
  name: 'TaintToleration',
  weight: 1,
  score(pod, node) {
    let count = 0;
    for (const taint of node.node?.spec.taints ?? []) {
      if (taint.effect === 'PreferNoSchedule' && !toleratedBy(pod.pod.spec.tolerations, taint)) count++;
    }
    return count;
  },
  normalize: (scores) => scaleToMax(scores, true),
};
