/** Which pods of a node's topology domains are in the way of a pod, or are not there. */
import type { AffinityTerm } from '#scheduler/cluster/affinity-term.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Question } from '#scheduler/explain/question.js';

interface Placed {
  readonly pod: PodInfo;
  readonly node: string;
}

/** Undefined when the cluster has changed since the refusal. */
export function affinityOf(question: Question): string | undefined {
  return nobodyNear(question) ?? somebodyToAvoid(question) ?? somebodyWhoAvoids(question);
}

function nobodyNear(question: Question): string | undefined {
  const { cluster, node, pod } = question;
  const { requiredAffinity } = pod.terms;
  const missing = requiredAffinity.find(({ topologyKey }) => node.labels[topologyKey] === undefined);
  if (missing !== undefined) return `the node has no label ${missing.topologyKey}`;
  const { namespaceLabels } = cluster.objects;
  const friends = [...cluster.placed()].filter((other) =>
    requiredAffinity.every((term) => term.matches(other.pod, namespaceLabels)),
  );
  for (const { topologyKey } of requiredAffinity) {
    if (friends.some((other) => isInDomain(question, other, topologyKey))) continue;
    if (friends.length === 0) return 'no pod in the cluster is one that the pod wants to be near';
    const elsewhere = new Map<string, number>();
    for (const other of friends) {
      const domain = cluster.node(other.node)?.labels[topologyKey];
      if (domain !== undefined) elsewhere.set(domain, (elsewhere.get(domain) ?? 0) + 1);
    }
    const [most] = [...elsewhere].sort((a, b) => b[1] - a[1]);
    const where = most === undefined ? '' : `; ${topologyKey}=${most[0]} has ${most[1]}`;
    return `${domainOf(question, topologyKey)} has no pod that the pod wants to be near${where}`;
  }
  return undefined;
}

function somebodyToAvoid(question: Question): string | undefined {
  const { cluster, pod } = question;
  for (const term of pod.terms.requiredAntiAffinity) {
    const found = inDomain(question, term, (other) => term.matches(other, cluster.objects.namespaceLabels));
    if (found !== undefined) return `${found}, which the pod keeps away from by ${term.topologyKey}`;
  }
  return undefined;
}

function somebodyWhoAvoids(question: Question): string | undefined {
  const { cluster, pod } = question;
  const { namespaceLabels } = cluster.objects;
  for (const other of cluster.placed()) {
    const term = other.pod.terms.requiredAntiAffinity.find((each) => each.matches(pod, namespaceLabels));
    if (term === undefined || !isInDomain(question, other, term.topologyKey)) continue;
    return `${shown(question, other, term.topologyKey)}, which keeps such pods away by ${term.topologyKey}`;
  }
  return undefined;
}

/** One of the pods, and how many there are. */
function inDomain(
  question: Question,
  { topologyKey }: AffinityTerm,
  is: (pod: PodInfo) => boolean,
): string | undefined {
  const found: Placed[] = [];
  for (const other of question.cluster.placed()) {
    if (isInDomain(question, other, topologyKey) && is(other.pod)) found.push(other);
  }
  // One on the very node is the plainest example.
  const example = found.find(({ node }) => node === question.node.name) ?? found[0];
  if (example === undefined) return undefined;
  const others = found.length === 1 ? '' : ` (one of ${found.length})`;
  return `${shown(question, example, topologyKey)}${others}`;
}

const isInDomain = ({ cluster, node }: Question, other: Placed, key: string): boolean =>
  node.labels[key] !== undefined && cluster.node(other.node)?.labels[key] === node.labels[key];

const domainOf = ({ node }: Question, key: string): string => `${key}=${node.labels[key]}`;

function shown(question: Question, { node, pod }: Placed, key: string): string {
  return node === question.node.name
    ? `${pod.key} is there`
    : `${pod.key} on ${node} is in ${domainOf(question, key)}, too`;
}
