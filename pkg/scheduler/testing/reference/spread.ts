import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { type LabelSelector, selectorFromObject } from '#apimachinery/selectors/labels.js';
import { labelsOf, type Model, nameOf, podsOn } from '#scheduler/testing/reference/model.js';
import { matchesNode } from '#scheduler/testing/reference/node-affinity.js';

interface Constraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly selector: LabelSelector;
}

function constraintsOf(pod: Pod, sort: string): Constraint[] {
  return (pod.spec.topologySpreadConstraints ?? [])
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === sort)
    .map(({ labelSelector, maxSkew, topologyKey }) => ({
      maxSkew,
      topologyKey,
      selector: selectorFromObject(labelSelector),
    }));
}

const hasAll = (node: Node, constraints: readonly Constraint[]) =>
  constraints.every(({ topologyKey }) => labelsOf(node)[topologyKey] !== undefined);

function matching(model: Model, pod: Pod, node: Node, selector: LabelSelector): number {
  return podsOn(model, node).filter(
    (other) =>
      other.metadata.deletionTimestamp === undefined &&
      other.metadata.namespace === pod.metadata.namespace &&
      selector.matches(labelsOf(other)),
  ).length;
}

function inDomain(
  model: Model,
  pod: Pod,
  nodes: readonly Node[],
  { selector, topologyKey }: Constraint,
  value: string,
) {
  return nodes
    .filter((node) => labelsOf(node)[topologyKey] === value)
    .reduce((sum, node) => sum + matching(model, pod, node, selector), 0);
}

export function spreadRefusal(model: Model, pod: Pod, node: Node): string | undefined {
  const constraints = constraintsOf(pod, 'DoNotSchedule');
  const counting = model.nodes.filter((each) => matchesNode(pod, each) && hasAll(each, constraints));
  for (const constraint of constraints) {
    const { maxSkew, selector, topologyKey } = constraint;
    const value = labelsOf(node)[topologyKey];
    if (value === undefined) return "node(s) didn't match pod topology spread constraints (missing required label)";
    const domains = new Set(counting.map((each) => labelsOf(each)[topologyKey] ?? ''));
    const counts = [...domains].map((domain) => inDomain(model, pod, counting, constraint, domain));
    const self = selector.matches(labelsOf(pod)) ? 1 : 0;
    const podsInDomain = inDomain(model, pod, counting, constraint, value);
    if (podsInDomain + self - Math.min(...counts) > maxSkew)
      return "node(s) didn't match pod topology spread constraints";
  }
  return undefined;
}

/** Normalized scores of all feasible nodes. */
export function spreadScores(model: Model, pod: Pod, feasible: readonly Node[], dialect: Dialect): number[] {
  const { hostname, zone } = dialect.labels;
  const explicit = (pod.spec.topologySpreadConstraints ?? []).length > 0;
  const selector = model.spreadSelector(pod);
  const defaults = selector.isEverything
    ? []
    : [
        { topologyKey: hostname, maxSkew: 3, selector },
        { topologyKey: zone, maxSkew: 5, selector },
      ];
  const constraints = explicit ? constraintsOf(pod, 'ScheduleAnyway') : defaults;
  if (constraints.length === 0) return feasible.map(() => 0);
  const counts = (node: Node) => !explicit || hasAll(node, constraints);
  const counting = model.nodes.filter((node) => matchesNode(pod, node) && counts(node));
  const scored = feasible.filter(counts);
  const raw = new Map<string, number>();
  for (const node of scored) {
    let sum = 0;
    for (const constraint of constraints) {
      const { maxSkew, topologyKey } = constraint;
      const value = labelsOf(node)[topologyKey];
      if (value === undefined) continue;
      const onHosts = topologyKey === hostname;
      const domains = onHosts ? scored.length : new Set(scored.map((each) => labelsOf(each)[topologyKey])).size;
      const pods = onHosts
        ? matching(model, pod, node, constraint.selector)
        : inDomain(model, pod, counting, constraint, value);
      sum += pods * Math.log(domains + 2) + (maxSkew - 1);
    }
    raw.set(nameOf(node), Math.round(sum));
  }
  const max = Math.max(0, ...raw.values());
  const min = Math.min(...raw.values());
  return feasible.map((node) => {
    const score = raw.get(nameOf(node));
    if (score === undefined) return 0;
    return max === 0 ? 100 : Math.floor((100 * (max + min - score)) / max);
  });
}
