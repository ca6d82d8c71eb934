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

/** Whether the node meets the pod's selector and required affinity. */
export function matchesNode({ spec }: Pod, node: Node): boolean {
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const selected = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labelsOf(node)[key] === value);
  return selected && (terms === undefined || terms.some((term) => matches(node, term)));
}

export function preference({ spec }: Pod, node: Node): number {
  const terms = spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return terms.filter((term) => matches(node, term.preference)).reduce((sum, { weight }) => sum + weight, 0);
}

/** Whether every term names nodes and no node satisfies all requirements of one term. */
export function namesConflict({ spec }: Pod): boolean {
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const namesPerTerm = terms.map(({ matchFields = [] }) =>
    matchFields
      .filter(({ key, operator }) => key === 'metadata.name' && operator === 'In')
      .map(({ values = [] }) => values),
  );
  if (namesPerTerm.length === 0 || namesPerTerm.some((lists) => lists.length === 0)) return false;
  return namesPerTerm.every(
    ([first = [], ...rest]) => !first.some((name) => rest.every((list) => list.includes(name))),
  );
}
