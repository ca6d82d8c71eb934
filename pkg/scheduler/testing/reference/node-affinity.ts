import type { Node, NodeSelectorRequirement, NodeSelectorTerm, Pod } from '#api/core/v1/types.gen.js';
import { labelsOf, nameOf } from '#scheduler/testing/reference/model.js';

function meets({ key, operator, values = [] }: NodeSelectorRequirement, value: string | undefined): boolean {
  const [bound] = values;
  const numbers = [value, bound].every((text) => text !== undefined && /^-?\d+$/.test(text));
  const meanings: Readonly<Record<string, boolean>> = {
    In: value !== undefined && values.includes(value),
    NotIn: value === undefined || !values.includes(value),
    Exists: value !== undefined,
    DoesNotExist: value === undefined,
    Gt: numbers && Number(value) > Number(bound),
    Lt: numbers && Number(value) < Number(bound),
  };
  const met = meanings[operator];
  if (met === undefined) throw new RangeError(`${key}: no operator ${operator}`);
  return met;
}

function matches(node: Node, { matchExpressions = [], matchFields = [] }: NodeSelectorTerm): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const labels = matchExpressions.every((each) => meets(each, labelsOf(node)[each.key]));
  return labels && matchFields.every((each) => meets(each, nameOf(node)));
}

/** The node has what the pod's selector and required affinity ask for. */
export function wanted({ spec }: Pod, node: Node): boolean {
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const selected = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labelsOf(node)[key] === value);
  return selected && (terms === undefined || terms.some((term) => matches(node, term)));
}

export function preference({ spec }: Pod, node: Node): number {
  const terms = spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return terms.filter((term) => matches(node, term.preference)).reduce((sum, { weight }) => sum + weight, 0);
}

/** Every term names nodes, and none of those that one names is named by all of its requirements. */
export function namesConflict({ spec }: Pod): boolean {
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const named = terms.map(({ matchFields = [] }) =>
    matchFields
      .filter(({ key, operator }) => key === 'metadata.name' && operator === 'In')
      .map(({ values = [] }) => values),
  );
  if (named.length === 0 || named.some((lists) => lists.length === 0)) return false;
  return named.every(([first = [], ...rest]) => !first.some((name) => rest.every((list) => list.includes(name))));
}
