/** What a plugin found on a node, in numbers and names: beyond the words of release 1.24, which count nodes only. */
import { findUntoleratedTaint, taintText } from '#api/core/v1/node/taints.js';
import { affinityOf } from '#scheduler/explain/facts-of-affinity.js';
import { diskOf, limitsOf, volumePlaceOf } from '#scheduler/explain/facts-of-volumes.js';
import type { Question } from '#scheduler/explain/question.js';
import { constraintsOf, countingNodes, systemDefaults } from '#scheduler/plugins/pod-topology-spread/constraints.js';
import { countFor } from '#scheduler/plugins/pod-topology-spread/counts.js';

/** Undefined for plugins whose reasons say it all. */
export function factsOf(question: Question): string | undefined {
  switch (question.plugin) {
    case 'TaintToleration':
      return taintOf(question);
    case 'NodeAffinity':
      return labelsOf(question);
    case 'NodePorts':
      return portOf(question);
    case 'PodTopologySpread':
      return spreadOf(question);
    case 'InterPodAffinity':
      return affinityOf(question);
    case 'NodeVolumeLimits':
      return limitsOf(question);
    case 'VolumeRestrictions':
      return diskOf(question);
    case 'VolumeBinding':
    case 'VolumeZone':
      return volumePlaceOf(question);
    default:
      return undefined;
  }
}

function taintOf({ node, pod: { pod } }: Question): string | undefined {
  const taints = node.node?.spec.taints;
  const taint = findUntoleratedTaint(taints, pod.spec.tolerations, ['NoSchedule', 'NoExecute']);
  return taint === undefined ? undefined : `the pod does not tolerate ${taintText(taint)}`;
}

function labelsOf({ node, pod: { pod } }: Question): string | undefined {
  const missing = Object.entries(pod.spec.nodeSelector ?? {}).filter(([key, value]) => node.labels[key] !== value);
  if (missing.length === 0) return undefined;
  const shown = missing.map(([key, value]) => {
    const there = node.labels[key];
    return `${key}=${value} is asked for, the node has ${there === undefined ? 'no such label' : `${key}=${there}`}`;
  });
  return shown.join('; ');
}

function portOf({ node, pod }: Question): string | undefined {
  const port = pod.hostPorts.find((each) => node.portTaken(each));
  if (port === undefined) return undefined;
  const holder = [...node.pods.values()].find(({ hostPorts }) =>
    hostPorts.some((each) => each.port === port.port && each.protocol === port.protocol),
  );
  return `port ${port.port}/${port.protocol} is taken${holder === undefined ? '' : ` by ${holder.key}`}`;
}

function spreadOf({ cluster, dialect, node, pod }: Question): string | undefined {
  const constraints = constraintsOf(pod, 'DoNotSchedule', systemDefaults(dialect), cluster);
  const counts = countingNodes(
    pod,
    constraints.map(({ topologyKey }) => topologyKey),
  );
  for (const constraint of constraints) {
    const { maxSkew, selector, topologyKey } = constraint;
    const domain = node.labels[topologyKey];
    if (domain === undefined) return `the node has no label ${topologyKey}`;
    const counted = countFor(constraint, pod, cluster, counts);
    const [here, least] = [counted.sums.of(node), counted.sums.min ?? 0];
    counted.close();
    const own = selector.matches(pod.labels) ? 1 : 0;
    if (here + own - least <= maxSkew) continue;
    return `${topologyKey}=${domain} has ${here} such pods, the least of all ${least}, maxSkew is ${maxSkew}`;
  }
  return undefined;
}
