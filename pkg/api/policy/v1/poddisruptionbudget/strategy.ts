import { checkAtMost100Percent, checkIntOrPercent } from '#api/core/v1/workload/validation.js';
import { validateConditions } from '#api/meta/v1/condition/validation.js';
import { validateLabelSelector } from '#api/meta/v1/labelselector/validation.js';
import { withoutDeprecatedLabel } from '#api/policy/v1/poddisruptionbudget/selector.js';
import { declaration as schema } from '#api/policy/v1/poddisruptionbudget.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import type {
  PodDisruptionBudget,
  PodDisruptionBudgetSpec,
  PodDisruptionBudgetStatus,
} from '#api/policy/v1/types.gen.js';
import { type KindRules, kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, invalidValue } from '#apimachinery/validation/failure.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';
import { clashOf } from '#apimachinery/validation/unions.js';

const specPath = FieldPath.of('spec');

/** Rules that all versions share. */
export const budgetRules: KindRules<PodDisruptionBudget> = {
  // The name must only be valid in a URL.
  name: pathSegmentErrors,
  metadataLast: true,
  anyFinalizer: true,
  generationFields: ['spec'],
  allowUnconditionalUpdate: false,
  defaults({ spec }, { dialect }) {
    const { selector } = spec;
    const kept = selector && withoutDeprecatedLabel(selector, dialect);
    if (kept !== undefined && kept !== selector) spec.selector = copyJson(kept);
  },
  validate: (budget) => validateBudget(budget),
  cells: (budget, context) => [
    budget.metadata.name ?? '',
    String(budget.spec.minAvailable ?? 'N/A'),
    String(budget.spec.maxUnavailable ?? 'N/A'),
    budget.status?.disruptionsAllowed ?? 0,
    age(budget.metadata.creationTimestamp, context.now),
  ],
};

export const podDisruptionBudgetStrategy: Strategy<PodDisruptionBudget> = kindStrategy<PodDisruptionBudget>(
  poddisruptionbudgets,
  { ...budgetRules, validateStatusUpdate: ({ status }) => (status === undefined ? [] : validateStatus(status)) },
);

const clashes = clashOf<PodDisruptionBudgetSpec>(schema.types.PodDisruptionBudgetSpec, 'minAvailable');
const checkCounts = rangesOf(
  schema.types.PodDisruptionBudgetStatus,
  'disruptionsAllowed',
  'currentHealthy',
  'desiredHealthy',
  'expectedPods',
);

export function validateBudgetConditions({ status }: PodDisruptionBudget): FieldFailure[] {
  return validateConditions(status?.conditions, FieldPath.of('status', 'conditions'));
}

function validateStatus(status: PodDisruptionBudgetStatus): FieldFailure[] {
  const path = FieldPath.of('status');
  return [...validateConditions(status.conditions, path.child('conditions')), ...checkCounts(status, path)];
}

function validateBudget(budget: PodDisruptionBudget): FieldFailure[] {
  const { spec } = budget;
  const failures: FieldFailure[] = [];
  if (clashes(spec)) {
    failures.push(invalidValue(specPath, spec, 'minAvailable and maxUnavailable cannot be both set'));
  }
  for (const field of ['minAvailable', 'maxUnavailable'] as const) {
    const at = specPath.child(field);
    addAll(failures, checkIntOrPercent(at, spec[field]));
    addAll(failures, checkAtMost100Percent(at, spec[field]));
  }
  return [...failures, ...validateLabelSelector(spec.selector, specPath.child('selector'))];
}
