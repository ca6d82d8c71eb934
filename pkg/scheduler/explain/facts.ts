/** What a plugin found on a node, in numbers and names: beyond the words of release 1.24, which count nodes only. */
import { findUntoleratedTaint, taintText } from '#api/core/v1/node/taints.js';
import { affinityOf } from '#scheduler/explain/facts-of-affinity.js';
import { diskOf, limitsOf, volumePlaceOf } from '#scheduler/explain/facts-of-volumes.js';
import type { Question } from '#scheduler/explain/question.js';

/** Undefined for plugins whose reasons say it all. */
export function factsOf(question: Question): string | undefined {
  switch (question.plugin) {
    case 'TaintToleration':
      return taintOf(question);
    case 'NodeAffinity':
      return labelsOf(question);
    case 'NodePorts':
      return portOf(question);
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
      return question.filter?.explain?.(question.pod, question.cluster, question.node);
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
