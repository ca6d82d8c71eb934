import type { Dialect } from '#apimachinery/dialect.js';
import type { Plugin } from '#scheduler/framework/plugin.js';
import { constraintsOf, type SpreadArgs, systemDefaults } from '#scheduler/plugins/pod-topology-spread/constraints.js';
import { spreadFacts } from '#scheduler/plugins/pod-topology-spread/facts.js';
import { SpreadFilter } from '#scheduler/plugins/pod-topology-spread/filter.js';
import { SpreadScore } from '#scheduler/plugins/pod-topology-spread/score.js';

/** Spreads pods over topology domains. Rules of release 1.24. */
export function podTopologySpread(
  dialect: Pick<Dialect, 'labels'>,
  args: SpreadArgs = systemDefaults(dialect),
): Plugin {
  return {
    name: 'PodTopologySpread',
    events: ['NodeAdd', 'NodeLabelChange', 'AssignedPodAdd', 'AssignedPodUpdate', 'AssignedPodDelete'],
    filter: {
      local: false,
      prepare(pod, cluster) {
        const constraints = constraintsOf(pod, 'DoNotSchedule', args, cluster);
        return constraints.length === 0 ? undefined : new SpreadFilter(constraints, pod, cluster);
      },
      explain: (pod, cluster, node) =>
        spreadFacts(constraintsOf(pod, 'DoNotSchedule', args, cluster), pod, cluster, node),
    },
    score: {
      local: false,
      prepare(pod, cluster) {
        const constraints = constraintsOf(pod, 'ScheduleAnyway', args, cluster);
        if (constraints.length === 0) return undefined;
        const own = (pod.pod.spec.topologySpreadConstraints ?? []).length > 0;
        return new SpreadScore(constraints, pod, cluster, own || !args.system);
      },
    },
  };
}
