/** Each default filter and score of release 1.24, in its simplest form. */
import type { Node, Pod, PodAffinityTerm, Taint } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { milliValue, value } from '#apimachinery/quantity.js';
import { selectorFromObject } from '#apimachinery/selectors/labels.js';
import { labelsOf, type Model, nameOf, nodeOf, podsOn, type Refused } from '#scheduler/testing/reference/model.js';
import { matchesNode, namesConflict, preference } from '#scheduler/testing/reference/node-affinity.js';
import { spreadRefusal, spreadScores } from '#scheduler/testing/reference/spread.js';
import { claimsRefusal, singleClaimsRefusal, volumesRefusal } from '#scheduler/testing/reference/volumes.js';

const amount = (name: string, quantity: string | undefined): number =>
  Number(name === 'cpu' ? milliValue(quantity ?? '0') : value(quantity ?? '0'));

/** The pod's request; `assume`: use the scoring defaults for missing CPU and memory requests. */
function requestOf(pod: Pod, name: string, assume = false): number {
  const assumed = assume ? ({ cpu: 100, memory: 200 * 1024 * 1024 }[name] ?? 0) : 0;
  const of = (requests: Readonly<Record<string, string>> | undefined) =>
    requests?.[name] === undefined ? assumed : amount(name, requests[name]);
  const together = (pod.spec.containers ?? []).reduce((sum, each) => sum + of(each.resources?.requests), 0);
  const first = Math.max(0, ...(pod.spec.initContainers ?? []).map((each) => of(each.resources?.requests)));
  return Math.max(together, first) + amount(name, pod.spec.overhead?.[name]);
}

const allocatable = (node: Node, name: string): number => amount(name, node.status?.allocatable?.[name]);

const usedByAll = (model: Model, node: Node, name: string, assume = false): number =>
  podsOn(model, node).reduce((sum, pod) => sum + requestOf(pod, name, assume), 0);

function lacking(model: Model, pod: Pod, node: Node): string[] {
  const reasons = podsOn(model, node).length + 1 > allocatable(node, 'pods') ? ['Too many pods'] : [];
  const plain = ['cpu', 'memory', 'ephemeral-storage'];
  const extended = ['example.com/gpu'].filter((name) => requestOf(pod, name) > 0);
  if (extended.length === 0 && plain.every((name) => requestOf(pod, name) === 0)) return reasons;
  for (const name of [...plain, ...extended]) {
    if (requestOf(pod, name) > allocatable(node, name) - usedByAll(model, node, name))
      reasons.push(`Insufficient ${name}`);
  }
  return reasons;
}

function least(model: Model, pod: Pod, node: Node): number {
  const scores = ['cpu', 'memory'].flatMap((name) => {
    const capacity = allocatable(node, name);
    const used = usedByAll(model, node, name, true) + requestOf(pod, name, true);
    if (capacity === 0) return [];
    return [used > capacity ? 0 : Math.floor(((capacity - used) * 100) / capacity)];
  });
  return scores.length === 0 ? 0 : Math.floor(scores.reduce((a, b) => a + b, 0) / scores.length);
}

function even(model: Model, pod: Pod, node: Node): number {
  const shares = ['cpu', 'memory'].flatMap((name) => {
    const capacity = allocatable(node, name);
    return capacity === 0 ? [] : [Math.min(1, (usedByAll(model, node, name) + requestOf(pod, name)) / capacity)];
  });
  const [a = 0, b = a] = shares;
  return Math.floor((1 - Math.abs(a - b) / 2) * 100);
}

const near = (pod: Pod) => pod.spec.affinity?.podAffinity;
const far = (pod: Pod) => pod.spec.affinity?.podAntiAffinity;
const required = (affinity: ReturnType<typeof near>) => affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
const preferred = (affinity: ReturnType<typeof near>) =>
  affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];

/** Whether `owner`'s term matches `other`. */
function matchesTerm(model: Model, owner: Pod, term: PodAffinityTerm, other: Pod): boolean {
  const namespace = other.metadata.namespace ?? '';
  const namespaces = term.namespaces ?? [];
  const isOwnNamespace =
    namespaces.length === 0 && term.namespaceSelector === undefined && namespace === owner.metadata.namespace;
  const selected =
    term.namespaceSelector !== undefined &&
    selectorFromObject(term.namespaceSelector).matches(model.namespaces[namespace] ?? {});
  if (!isOwnNamespace && !namespaces.includes(namespace) && !selected) return false;
  return selectorFromObject(term.labelSelector).matches(labelsOf(other));
}

function sameDomain(a: Node, b: Node | undefined, key: string): boolean {
  return b !== undefined && labelsOf(a)[key] !== undefined && labelsOf(a)[key] === labelsOf(b)[key];
}

function affinityRefusal(model: Model, pod: Pod, node: Node): string | undefined {
  const terms = required(near(pod));
  if (terms.length > 0) {
    const matchingPods = model.pods.filter((other) => terms.every((term) => matchesTerm(model, pod, term, other)));
    const counted = (term: PodAffinityTerm) =>
      matchingPods.some(
        (other) => labelsOf(nodeOf(model, other) ?? ({ metadata: {} } as Node))[term.topologyKey] !== undefined,
      );
    const labelled = terms.every(({ topologyKey }) => labelsOf(node)[topologyKey] !== undefined);
    const met = terms.every((term) =>
      matchingPods.some((other) => sameDomain(node, nodeOf(model, other), term.topologyKey)),
    );
    const first = !terms.some(counted) && terms.every((term) => matchesTerm(model, pod, term, pod));
    if (!labelled || !(met || first)) return "node(s) didn't match pod affinity rules";
  }
  for (const term of required(far(pod))) {
    for (const other of model.pods) {
      if (matchesTerm(model, pod, term, other) && sameDomain(node, nodeOf(model, other), term.topologyKey)) {
        return "node(s) didn't match pod anti-affinity rules";
      }
    }
  }
  for (const other of model.pods) {
    for (const term of required(far(other))) {
      if (matchesTerm(model, other, term, pod) && sameDomain(node, nodeOf(model, other), term.topologyKey)) {
        return "node(s) didn't satisfy existing pods anti-affinity rules";
      }
    }
  }
  return undefined;
}

function affinityScore(model: Model, pod: Pod, node: Node): number {
  let score = 0;
  for (const other of model.pods) {
    const there = nodeOf(model, other);
    const count = (owner: Pod, term: PodAffinityTerm, about: Pod, weight: number) => {
      if (matchesTerm(model, owner, term, about) && sameDomain(node, there, term.topologyKey)) score += weight;
    };
    for (const { podAffinityTerm, weight } of preferred(near(pod))) count(pod, podAffinityTerm, other, weight);
    for (const { podAffinityTerm, weight } of preferred(far(pod))) count(pod, podAffinityTerm, other, -weight);
    for (const { podAffinityTerm, weight } of preferred(near(other))) count(other, podAffinityTerm, pod, weight);
    for (const { podAffinityTerm, weight } of preferred(far(other))) count(other, podAffinityTerm, pod, -weight);
    for (const term of required(near(other))) count(other, term, pod, 1);
  }
  return score;
}

const tolerated = (pod: Pod, taint: Taint) =>
  (pod.spec.tolerations ?? []).some(
    ({ effect = taint.effect, key = taint.key, operator, value }) =>
      effect === taint.effect && key === taint.key && (operator === 'Exists' || value === taint.value),
  );

/** The first refusal of the node; reasons that refuse all nodes come first. `singlePods`: the gate ReadWriteOncePod. */
export function refusal(
  model: Model,
  pod: Pod,
  node: Node,
  dialect: Dialect,
  { singlePods = false } = {},
): Refused | undefined {
  if (namesConflict(pod)) return { plugin: 'NodeAffinity', reasons: ['pod affinity terms conflict'] };
  const ofClaims = (singlePods ? singleClaimsRefusal(model, pod) : undefined) ?? claimsRefusal(model, pod, dialect);
  return ofClaims ?? nodeRefusal(model, pod, node, dialect);
}

function nodeRefusal(model: Model, pod: Pod, node: Node, dialect: Dialect): Refused | undefined {
  const cordon = { key: dialect.taints.unschedulable, effect: 'NoSchedule' };
  if (node.spec.unschedulable === true && !tolerated(pod, cordon)) {
    return { plugin: 'NodeUnschedulable', reasons: ['node(s) were unschedulable'] };
  }
  if (pod.spec.nodeName !== undefined && pod.spec.nodeName !== nameOf(node)) {
    return { plugin: 'NodeName', reasons: ["node(s) didn't match the requested node name"] };
  }
  const taint = node.spec.taints?.find((each) => each.effect !== 'PreferNoSchedule' && !tolerated(pod, each));
  if (taint !== undefined) {
    const reason = `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`;
    return { plugin: 'TaintToleration', reasons: [reason] };
  }
  if (!matchesNode(pod, node)) {
    return { plugin: 'NodeAffinity', reasons: ["node(s) didn't match Pod's node affinity/selector"] };
  }
  if (podsOn(model, node).some((other) => portsClash(pod, other))) {
    return { plugin: 'NodePorts', reasons: ["node(s) didn't have free ports for the requested pod ports"] };
  }
  const resources = lacking(model, pod, node);
  if (resources.length > 0) return { plugin: 'NodeResourcesFit', reasons: resources };
  const volumes = volumesRefusal(model, pod, node, dialect);
  if (volumes !== undefined) return volumes;
  const spread = spreadRefusal(model, pod, node);
  if (spread !== undefined) return { plugin: 'PodTopologySpread', reasons: [spread] };
  const affinity = affinityRefusal(model, pod, node);
  return affinity === undefined ? undefined : { plugin: 'InterPodAffinity', reasons: [affinity] };
}

function portsClash(a: Pod, b: Pod): boolean {
  const ports = (pod: Pod) => (pod.spec.containers ?? []).flatMap(({ ports: own }) => own ?? []);
  const any = '0.0.0.0';
  return ports(a).some((left) =>
    ports(b).some((right) => {
      const [ip = any, other = any] = [left.hostIP, right.hostIP];
      const sameIP = ip === any || other === any || ip === other;
      const sameProtocol = (left.protocol ?? 'TCP') === (right.protocol ?? 'TCP');
      return (left.hostPort ?? 0) > 0 && left.hostPort === right.hostPort && sameProtocol && sameIP;
    }),
  );
}

/** Each plugin's normalized scores of the feasible nodes. */
export function scores(
  model: Model,
  pod: Pod,
  feasible: readonly Node[],
  dialect: Dialect,
): Readonly<Record<string, readonly number[]>> {
  const disliked = (node: Node) =>
    (node.spec.taints ?? []).filter((each) => each.effect === 'PreferNoSchedule' && !tolerated(pod, each)).length;
  const near = feasible.map((node) => affinityScore(model, pod, node));
  const [min, max] = [Math.min(...near), Math.max(...near)];
  return {
    TaintToleration: toMax(feasible.map(disliked)).map((score) => 100 - score),
    NodeAffinity: toMax(feasible.map((node) => preference(pod, node))),
    NodeResourcesFit: feasible.map((node) => least(model, pod, node)),
    PodTopologySpread: spreadScores(model, pod, feasible, dialect),
    InterPodAffinity: near.map((score) => (max === min ? 0 : Math.floor((100 * (score - min)) / (max - min)))),
    NodeResourcesBalancedAllocation: feasible.map((node) => even(model, pod, node)),
    ImageLocality: feasible.map((node) => imageScore(model, pod, node)),
  };
}

function toMax(scores: readonly number[]): number[] {
  const max = Math.max(0, ...scores);
  return scores.map((score) => (max === 0 ? 0 : Math.floor((100 * score) / max)));
}

function imageScore(model: Model, pod: Pod, node: Node): number {
  const megabyte = 1024 * 1024;
  const images = (pod.spec.containers ?? []).map(({ image = '' }) => (image.includes(':') ? image : `${image}:latest`));
  if (images.length === 0) return 0;
  const imageOn = (each: Node, name: string) =>
    each.status?.images?.find(({ names }) => names?.includes(name) === true);
  let bytes = 0;
  for (const image of images) {
    const entry = imageOn(node, image);
    if (entry === undefined) continue;
    const share = model.nodes.filter((each) => imageOn(each, image) !== undefined).length / model.nodes.length;
    bytes += Math.floor(Number(entry.sizeBytes ?? 0) * share);
  }
  const [low, high] = [23 * megabyte, 1000 * megabyte * images.length];
  return Math.floor((100 * (Math.min(high, Math.max(low, bytes)) - low)) / (high - low));
}
