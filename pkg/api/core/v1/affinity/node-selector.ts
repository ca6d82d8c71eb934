/**
 * Node selection by labels and name. A requirement without meaning (In without values, Gt without a number) matches no
 * node: validation refuses most of them, but objects from other servers may contain them.
 */
import type {
  Node,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodSpec,
  PreferredSchedulingTerm,
} from '#api/core/v1/types.gen.js';

/** Whether the labels meet one requirement. */
export function matchesNodeRequirement(
  requirement: NodeSelectorRequirement,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  const { key, operator, values = [] } = requirement;
  const value = labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return values.length > 0 && (value === undefined || !values.includes(value));
    case 'Exists':
      return values.length === 0 && value !== undefined;
    case 'DoesNotExist':
      return values.length === 0 && value === undefined;
    case 'Gt':
    case 'Lt':
      return compareNumbers(operator, value, values);
    default:
      return false;
  }
}

const wholeNumber = /^[+-]?[0-9]+$/;

function compareNumbers(operator: 'Gt' | 'Lt', value: string | undefined, values: readonly string[]): boolean {
  const [bound] = values;
  if (values.length !== 1 || bound === undefined || value === undefined) return false;
  if (!wholeNumber.test(value) || !wholeNumber.test(bound)) return false;
  const left = BigInt(value.replace(/^\+/, ''));
  const right = BigInt(bound.replace(/^\+/, ''));
  return operator === 'Gt' ? left > right : left < right;
}

/** Nodes can be selected only by the field of their name, with exactly one value. */
function matchesNodeField(requirement: NodeSelectorRequirement, nodeName: string): boolean {
  const [value, ...more] = requirement.values ?? [];
  if (requirement.key !== 'metadata.name' || value === undefined || more.length > 0) return false;
  if (requirement.operator === 'In') return value === nodeName;
  return requirement.operator === 'NotIn' && value !== nodeName;
}

/** Whether the node meets all requirements of the term; an empty term matches no node. */
export function matchesNodeSelectorTerm(term: NodeSelectorTerm, node: Node): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length === 0 && fields.length === 0) return false;
  return (
    expressions.every((requirement) => matchesNodeRequirement(requirement, node.metadata.labels)) &&
    fields.every((requirement) => matchesNodeField(requirement, node.metadata.name ?? ''))
  );
}

/** Whether any term of the selector matches. */
export function matchesNodeSelector(selector: NodeSelector, node: Node): boolean {
  return selector.nodeSelectorTerms.some((term) => matchesNodeSelectorTerm(term, node));
}

/** Whether the pod's node selector or required node affinity excludes any node. */
export function asksForNodes({ affinity, nodeSelector }: PodSpec): boolean {
  return (
    nodeSelector !== undefined || affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution !== undefined
  );
}

/** Whether the pod's node selector and required node affinity allow the node. */
export function matchesRequiredNodeAffinity(spec: PodSpec, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) {
    if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
  }
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeSelector(required, node);
}

/** Sum of the weights of preferred terms that match the node. */
export function preferredNodeWeight(terms: readonly PreferredSchedulingTerm[] | undefined, node: Node): number {
  let weight = 0;
  for (const term of terms ?? []) if (matchesNodeSelectorTerm(term.preference, node)) weight += term.weight;
  return weight;
}
