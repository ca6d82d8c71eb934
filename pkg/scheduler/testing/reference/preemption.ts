import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { selectorFromLabels } from '#apimachinery/selectors/labels.js';
import { labelsOf, type Model, nameOf, podsOn } from '#scheduler/testing/reference/model.js';
import { refusal } from '#scheduler/testing/reference/rules.js';

export interface ModelBudget {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly allowed: number;
}

export interface Choice {
  readonly node: string;
  readonly victims: readonly Pod[];
  readonly violations: number;
}

const priority = (pod: Pod): number => pod.spec.priority ?? 0;
const start = (pod: Pod): string => pod.status?.startTime ?? '9999';
const key = (pod: Pod): string => `${start(pod)} ${pod.metadata.uid}`;
const without = (model: Model, gone: readonly Pod[]): Model => ({
  ...model,
  spreadSelector: (pod) => model.spreadSelector(pod),
  pods: model.pods.filter((pod) => !gone.includes(pod)),
});

/** Reasons that eviction cannot resolve. */
const unresolvable = [
  'node(s) were unschedulable',
  'node(s) had untolerated taint',
  "node(s) didn't match Pod's node affinity",
  "node(s) didn't match pod affinity rules",
  'missing required label',
  "node(s) didn't match the requested node name",
  'pod affinity terms conflict',
  'not found',
  'pod has unbound immediate PersistentVolumeClaims',
  'bound to non-existent pv(s)',
  'node(s) had volume node affinity conflict',
  "node(s) didn't find available persistent volumes to bind",
  'node(s) did not have enough free storage',
  'node(s) had no available volume zone',
];

/** The victims for each node where eviction helps. */
export function choices(model: Model, pod: Pod, budgets: readonly ModelBudget[], dialect: Dialect): Choice[] {
  return model.nodes.flatMap((node) => {
    const reasons = refusal(model, pod, node, dialect)?.reasons.join() ?? '';
    if (unresolvable.some((reason) => reasons.includes(reason))) return [];
    return choice(model, pod, node, budgets, dialect) ?? [];
  });
}

function choice(
  model: Model,
  pod: Pod,
  node: Node,
  budgets: readonly ModelBudget[],
  dialect: Dialect,
): Choice | undefined {
  const lower = podsOn(model, node)
    .filter((other) => priority(other) < priority(pod))
    .sort((a, b) => priority(b) - priority(a) || (key(a) < key(b) ? -1 : 1));
  if (lower.length === 0 || refusal(without(model, lower), pod, node, dialect) !== undefined) return undefined;
  const used = new Map<ModelBudget, number>();
  const violating = lower.filter((other) => {
    let violates = false;
    for (const budget of budgets) {
      const covers =
        budget.namespace === other.metadata.namespace && selectorFromLabels(budget.labels).matches(labelsOf(other));
      if (!covers) continue;
      used.set(budget, (used.get(budget) ?? 0) + 1);
      violates ||= (used.get(budget) ?? 0) > budget.allowed;
    }
    return violates;
  });
  let victims = lower;
  for (const other of [...violating, ...lower.filter((each) => !violating.includes(each))]) {
    const fewer = victims.filter((each) => each !== other);
    if (refusal(without(model, fewer), pod, node, dialect) === undefined) victims = fewer;
  }
  return { node: nameOf(node), victims, violations: victims.filter((each) => violating.includes(each)).length };
}

/** The choices that tie for best after all criteria; each is acceptable. */
export function best(all: readonly Choice[]): Choice[] {
  const least = (left: readonly Choice[], of: (choice: Choice) => number) => {
    const min = Math.min(...left.map(of));
    return left.filter((choice) => of(choice) === min);
  };
  const highest = ({ victims }: Choice) => Math.max(...victims.map(priority));
  let remaining = least(all, ({ violations }) => violations);
  remaining = least(remaining, highest);
  remaining = least(remaining, ({ victims }) => victims.reduce((sum, victim) => sum + priority(victim) + 2 ** 31, 0));
  remaining = least(remaining, ({ victims }) => victims.length);
  const first = (choice: Choice) =>
    choice.victims
      .filter((victim) => priority(victim) === highest(choice))
      .map(start)
      .sort()[0] ?? '';
  const latest = remaining.map(first).sort().at(-1);
  return remaining.filter((choice) => first(choice) === latest);
}
