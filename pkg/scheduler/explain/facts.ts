/** Explains refusals with numbers and names, in addition to the messages of release 1.24, which only count nodes. */
import { findUntoleratedTaint, taintText } from '#api/core/v1/node/taints.js';
import { claimNamesOf } from '#api/core/v1/pod/claims.js';
import type { PersistentVolume } from '#api/core/v1/types.gen.js';
import { keyFor } from '#apimachinery/object-key.js';
import { affinityOf, type Question } from '#scheduler/explain/facts-of-affinity.js';
import { driverLoads, isOverloaded } from '#scheduler/plugins/node-volume-limits.js';
import { claimHolder, shareDisk } from '#scheduler/plugins/volume-restrictions.js';

/** Undefined for plugins whose reasons suffice. */
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
    const actual = node.labels[key];
    return `${key}=${value} is required, the node has ${actual === undefined ? 'no such label' : `${key}=${actual}`}`;
  });
  return shown.join('; ');
}

function portOf({ node, pod }: Question): string | undefined {
  const port = pod.hostPorts.find((each) => node.isPortUsed(each));
  if (port === undefined) return undefined;
  const holder = [...node.pods.values()].find(({ hostPorts }) =>
    hostPorts.some((each) => each.port === port.port && each.protocol === port.protocol),
  );
  return `port ${port.port}/${port.protocol} is taken${holder === undefined ? '' : ` by ${holder.key}`}`;
}

/** The number of attached volumes and the limit of the node, per driver. */
function limitsOf({ cluster, dialect, node, pod }: Question): string | undefined {
  const full = driverLoads(pod.pod, node, cluster.objects.storage, dialect).filter(isOverloaded);
  if (full.length === 0) return undefined;
  const shown = full.map(
    ({ attached, driver, limit, additional }) =>
      `${driver} has ${attached} of at most ${limit} volumes there, the pod needs ${additional} more`,
  );
  return shown.join('; ');
}

/** The pod that uses the disk or the claim. */
function diskOf({ cluster, node, pod }: Question): string | undefined {
  const claimed = claimHolder(pod.pod, cluster);
  if (claimed !== undefined) return `${claimed.pod.key} on node ${claimed.node} has the claim ${claimed.claim}`;
  const holder = [...node.pods.values()].find((other) => shareDisk(pod.pod, other.pod));
  return holder === undefined ? undefined : `${holder.key} has the disk`;
}

/** Where the volumes are, in contrast to the node. */
function volumePlaceOf(question: Question): string | undefined {
  const { cluster, pod } = question;
  const { storage } = cluster.objects;
  for (const name of claimNamesOf(pod.pod)) {
    const volume = storage.volume(storage.claim(keyFor(pod.namespace, name))?.spec.volumeName ?? '');
    const missing = volume === undefined ? undefined : missingLabel(volume, question);
    if (volume !== undefined && missing !== undefined) return `volume ${volume.metadata.name} is where ${missing}`;
  }
  return undefined;
}

function missingLabel(volume: PersistentVolume, { dialect, node }: Question): string | undefined {
  const nodeValue = (key: string) => (node.labels[key] === undefined ? 'no such label' : `${key}=${node.labels[key]}`);
  for (const key of [dialect.labels.zone, dialect.labels.region]) {
    const values = volume.metadata.labels?.[key]?.split('__');
    if (values?.includes(node.labels[key] ?? '') === false)
      return `${key} is ${values.join(' or ')}, the node has ${nodeValue(key)}`;
  }
  const [term] = volume.spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  for (const { key, operator, values = [] } of term?.matchExpressions ?? []) {
    if (operator !== 'In' || values.includes(node.labels[key] ?? '')) continue;
    return `${key} is ${values.join(' or ')}, the node has ${nodeValue(key)}`;
  }
  return undefined;
}
