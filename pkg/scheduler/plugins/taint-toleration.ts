import { findUntoleratedTaint, toleratedBy } from '#api/core/v1/node/taints.js';
import { type Plugin, scaleToMax } from '#scheduler/framework/plugin.js';

/** Requires toleration of NoSchedule and NoExecute taints; prefers nodes with few untolerated PreferNoSchedule taints. */
export const taintToleration: Plugin = {
  name: 'TaintToleration',
  events: ['NodeAdd', 'NodeSpecUnschedulableChange', 'NodeTaintChange'],
  filter: {
    local: true,
    prepare: ({ pod }) => ({
      filter({ node }) {
        const taints = node?.spec.taints;
        if (taints === undefined) return undefined;
        const taint = findUntoleratedTaint(taints, pod.spec.tolerations, ['NoSchedule', 'NoExecute']);
        if (taint === undefined) return undefined;
        return { reasons: [`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`], unresolvable: true };
      },
    }),
  },
  score: {
    local: true,
    prepare: ({ pod }, cluster) => ({
      isIdle: () => cluster.nodesToAvoid === 0,
      score({ node }) {
        let count = 0;
        for (const taint of node?.spec.taints ?? []) {
          if (taint.effect === 'PreferNoSchedule' && !toleratedBy(pod.spec.tolerations, taint)) count++;
        }
        return count;
      },
      normalize: (scores) => scaleToMax(scores, true),
    }),
  },
};
