import { toleratedBy } from '#api/core/v1/node/taints.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Plugin } from '#scheduler/framework/plugin.js';

const rejection = { reasons: ['node(s) were unschedulable'], unresolvable: true } as const;

/** Passes nodes that are not cordoned, or whose cordon the pod tolerates. */
export function nodeUnschedulable(dialect: Pick<Dialect, 'taints'>): Plugin {
  const taint = { key: dialect.taints.unschedulable, effect: 'NoSchedule' };
  return {
    name: 'NodeUnschedulable',
    events: ['NodeAdd', 'NodeSpecUnschedulableChange', 'NodeTaintChange'],
    filter: {
      local: true,
      prepare({ pod }) {
        if (toleratedBy(pod.spec.tolerations, taint)) return undefined;
        return { filter: ({ node }) => (node?.spec.unschedulable === true ? rejection : undefined) };
      },
    },
  };
}
