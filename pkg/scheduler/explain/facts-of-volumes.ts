/** Where a pod's volumes stand in the way of a node, in numbers and names. */
import { claimNamesOf } from '#api/core/v1/pod/claims.js';
import type { PersistentVolume } from '#api/core/v1/types.gen.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { Question } from '#scheduler/explain/question.js';
import { driverLoads, isOverloaded } from '#scheduler/plugins/node-volume-limits.js';
import { claimHolder, shareDisk } from '#scheduler/plugins/volume-restrictions.js';

/** How many volumes the node has of how many that it can have. */
export function limitsOf({ cluster, dialect, node, pod }: Question): string | undefined {
  const full = driverLoads(pod.pod, node, cluster.objects.storage, dialect).filter(isOverloaded);
  if (full.length === 0) return undefined;
  const shown = full.map(
    ({ attached, driver, limit, wanted }) =>
      `${driver} has ${attached} of at most ${limit} volumes there, the pod needs ${wanted} more`,
  );
  return shown.join('; ');
}

/** The pod that has the disk, or the claim. */
export function diskOf({ cluster, node, pod }: Question): string | undefined {
  const claimed = claimHolder(pod.pod, cluster);
  if (claimed !== undefined) return `${claimed.pod.key} on node ${claimed.node} has the claim ${claimed.claim}`;
  const holder = [...node.pods.values()].find((other) => shareDisk(pod.pod, other.pod));
  return holder === undefined ? undefined : `${holder.key} has the disk`;
}

/** Where the volumes are, and that the node is elsewhere. */
export function volumePlaceOf(question: Question): string | undefined {
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
  const has = (key: string) => (node.labels[key] === undefined ? 'no such label' : `${key}=${node.labels[key]}`);
  for (const key of [dialect.labels.zone, dialect.labels.region]) {
    const values = volume.metadata.labels?.[key]?.split('__');
    if (values?.includes(node.labels[key] ?? '') === false)
      return `${key} is ${values.join(' or ')}, the node has ${has(key)}`;
  }
  const [term] = volume.spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  for (const { key, operator, values = [] } of term?.matchExpressions ?? []) {
    if (operator !== 'In' || values.includes(node.labels[key] ?? '')) continue;
    return `${key} is ${values.join(' or ')}, the node has ${has(key)}`;
  }
  return undefined;
}
