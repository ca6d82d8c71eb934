/** Explains inter-pod affinity: which pods in the node's topology domains conflict, or which are missing. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { AffinityTerm } from '#scheduler/cluster/affinity-term.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { FilterPoint } from '#scheduler/framework/plugin.js';

/** A node that a plugin refused, for the explanation of the refusal. */
export interface Question {
  readonly plugin: string;
  /** The plugin's filter; undefined if it is no plugin of the profile. */
  readonly filter: FilterPoint | undefined;
  readonly pod: PodInfo;
  readonly node: NodeInfo;
  readonly cluster: Cluster;
  readonly dialect: Dialect;
}

interface Placed {
  readonly pod: PodInfo;
  readonly node: string;
}

/** Undefined if the cluster has changed since the refusal. */
export function affinityOf(question: Question): string | undefined {
  return missingAffinityPod(question) ?? podToAvoid(question) ?? podThatAvoids(question);
}

function missingAffinityPod(question: Question): string | undefined {
  const { cluster, node, pod } = question;
  const { requiredAffinity } = pod.terms;
  const missing = requiredAffinity.find(({ topologyKey }) => node.labels[topologyKey] === undefined);
  if (missing !== undefined) return `the node has no label ${missing.topologyKey}`;
  const { namespaceLabels } = cluster.objects;
  const affinePods = [...cluster.placed()].filter((other) =>
    requiredAffinity.every((term) => term.matches(other.pod, namespaceLabels)),
  );
  for (const { topologyKey } of requiredAffinity) {
    if (affinePods.some((other) => isInDomain(question, other, topologyKey))) continue;
    if (affinePods.length === 0) return "no pod in the cluster matches the pod's affinity";
    const elsewhere = new Map<string, number>();
    for (const other of affinePods) {
      const domain = cluster.node(other.node)?.labels[topologyKey];
      if (domain !== undefined) elsewhere.set(domain, (elsewhere.get(domain) ?? 0) + 1);
    }
    const [most] = [...elsewhere].sort((a, b) => b[1] - a[1]);
    const mostText = most === undefined ? '' : `; ${topologyKey}=${most[0]} has ${most[1]}`;
    return `${domainOf(question, topologyKey)} has no pod that matches the pod's affinity${mostText}`;
  }
  return undefined;
}

function podToAvoid(question: Question): string | undefined {
  const { cluster, pod } = question;
  for (const term of pod.terms.requiredAntiAffinity) {
    const conflict = inDomain(question, term, (other) => term.matches(other, cluster.objects.namespaceLabels));
    if (conflict !== undefined) return `${conflict}, which the pod's anti-affinity excludes by ${term.topologyKey}`;
  }
  return undefined;
}

function podThatAvoids(question: Question): string | undefined {
  const { cluster, pod } = question;
  const { namespaceLabels } = cluster.objects;
  for (const other of cluster.placed()) {
    const term = other.pod.terms.requiredAntiAffinity.find((each) => each.matches(pod, namespaceLabels));
    if (term === undefined || !isInDomain(question, other, term.topologyKey)) continue;
    return `${describe(question, other, term.topologyKey)}, whose anti-affinity excludes the pod by ${term.topologyKey}`;
  }
  return undefined;
}

/** Describes one of the matching pods, with their number. */
function inDomain(
  question: Question,
  { topologyKey }: AffinityTerm,
  is: (pod: PodInfo) => boolean,
): string | undefined {
  const matches: Placed[] = [];
  for (const other of question.cluster.placed()) {
    if (isInDomain(question, other, topologyKey) && is(other.pod)) matches.push(other);
  }
  // Prefer a pod on the node itself as the example.
  const example = matches.find(({ node }) => node === question.node.name) ?? matches[0];
  if (example === undefined) return undefined;
  const countText = matches.length === 1 ? '' : ` (one of ${matches.length})`;
  return `${describe(question, example, topologyKey)}${countText}`;
}

const isInDomain = ({ cluster, node }: Question, other: Placed, key: string): boolean =>
  node.labels[key] !== undefined && cluster.node(other.node)?.labels[key] === node.labels[key];

const domainOf = ({ node }: Question, key: string): string => `${key}=${node.labels[key]}`;

function describe(question: Question, { node, pod }: Placed, key: string): string {
  return node === question.node.name
    ? `${pod.key} is there`
    : `${pod.key} on ${node} is in ${domainOf(question, key)}, too`;
}
