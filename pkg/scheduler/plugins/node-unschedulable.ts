import { toleratedBy } from '#api/core/v1/node/taints.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FilterPlugin } from '#scheduler/framework/plugin.js';

/** The node is not cordoned, unless the pod tolerates that. */
export function nodeUnschedulable(dialect: Dialect): FilterPlugin {
  const taint = { key: dialect.taints.unschedulable, effect: 'NoSchedule' };
  return {
    name: 'NodeUnschedulable',
    events: ['NodeAdd', 'NodeTaints'],
    filter(pod, node) {
      if (node.node?.spec.unschedulable !== true || toleratedBy(pod.pod.spec.tolerations, taint)) return undefined;
      return { reasons: ['node(s) were unschedulable'], unresolvable: true };
    },
  };
}
