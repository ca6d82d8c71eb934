import type { Node, Pod, PodAffinityTerm } from '#api/core/v1/types.gen.js';
import { selectorFromObject } from '#apimachinery/selectors/labels.js';
import { labelsOf, type Model, nodeOf } from '#scheduler/testing/reference/model.js';

const near = (pod: Pod) => pod.spec.affinity?.podAffinity;
const far = (pod: Pod) => pod.spec.affinity?.podAntiAffinity;
const required = (affinity: ReturnType<typeof near>) => affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
const preferred = (affinity: ReturnType<typeof near>) =>
  affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];

/** Whether the term, which `owner` has, is about `other`. */
function isAbout(model: Model, owner: Pod, term: PodAffinityTerm, other: Pod): boolean {
  const namespace = other.metadata.namespace ?? '';
  const listed = term.namespaces ?? [];
  const own = listed.length === 0 && term.namespaceSelector === undefined && namespace === owner.metadata.namespace;
  const selected =
    term.namespaceSelector !== undefined &&
    selectorFromObject(term.namespaceSelector).matches(model.namespaces[namespace] ?? {});
  if (!own && !listed.includes(namespace) && !selected) return false;
  return selectorFromObject(term.labelSelector).matches(labelsOf(other));
}

function sameDomain(a: Node, b: Node | undefined, key: string): boolean {
  return b !== undefined && labelsOf(a)[key] !== undefined && labelsOf(a)[key] === labelsOf(b)[key];
}

export function affinityRefusal(model: Model, pod: Pod, node: Node): string | undefined {
  const wanted = required(near(pod));
  if (wanted.length > 0) {
    const friends = model.pods.filter((other) => wanted.every((term) => isAbout(model, pod, term, other)));
    const counted = (term: PodAffinityTerm) =>
      friends.some(
        (other) => labelsOf(nodeOf(model, other) ?? ({ metadata: {} } as Node))[term.topologyKey] !== undefined,
      );
    const labelled = wanted.every(({ topologyKey }) => labelsOf(node)[topologyKey] !== undefined);
    const met = wanted.every((term) =>
      friends.some((other) => sameDomain(node, nodeOf(model, other), term.topologyKey)),
    );
    const first = !wanted.some(counted) && wanted.every((term) => isAbout(model, pod, term, pod));
    if (!labelled || !(met || first)) return "node(s) didn't match pod affinity rules";
  }
  for (const term of required(far(pod))) {
    for (const other of model.pods) {
      if (isAbout(model, pod, term, other) && sameDomain(node, nodeOf(model, other), term.topologyKey)) {
        return "node(s) didn't match pod anti-affinity rules";
      }
    }
  }
  for (const other of model.pods) {
    for (const term of required(far(other))) {
      if (isAbout(model, other, term, pod) && sameDomain(node, nodeOf(model, other), term.topologyKey)) {
        return "node(s) didn't satisfy existing pods anti-affinity rules";
      }
    }
  }
  return undefined;
}

export function affinityScore(model: Model, pod: Pod, node: Node): number {
  let score = 0;
  for (const other of model.pods) {
    const there = nodeOf(model, other);
    const count = (owner: Pod, term: PodAffinityTerm, about: Pod, weight: number) => {
      if (isAbout(model, owner, term, about) && sameDomain(node, there, term.topologyKey)) score += weight;
    };
    for (const { podAffinityTerm, weight } of preferred(near(pod))) count(pod, podAffinityTerm, other, weight);
    for (const { podAffinityTerm, weight } of preferred(far(pod))) count(pod, podAffinityTerm, other, -weight);
    for (const { podAffinityTerm, weight } of preferred(near(other))) count(other, podAffinityTerm, pod, weight);
    for (const { podAffinityTerm, weight } of preferred(far(other))) count(other, podAffinityTerm, pod, -weight);
    for (const term of required(near(other))) count(other, term, pod, 1);
  }
  return score;
}
