import type { LabelSelector } from '#api/meta/v1/types.gen.js';
import { deprecatedSelectorLabel } from '#api/policy/v1/poddisruptionbudget/selector.js';
import { budgetRules, validateBudgetConditions } from '#api/policy/v1/poddisruptionbudget/strategy.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import type { PodDisruptionBudget as Stored } from '#api/policy/v1/types.gen.js';
import { poddisruptionbudgets as betaBudgets } from '#api/policy/v1beta1/resources.gen.js';
import type { PodDisruptionBudget } from '#api/policy/v1beta1/types.gen.js';
import type { Conversion } from '#api/strategy/conversion.js';
import { convertedStrategy } from '#api/strategy/converted-strategy.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';

const empty: LabelSelector = {};

/** Selects nothing in version 1 with `Exists`, and everything in version 1beta1 with `DoesNotExist`. */
function byLabel(operator: 'Exists' | 'DoesNotExist', dialect: Dialect): LabelSelector {
  return { matchExpressions: [{ key: deprecatedSelectorLabel(dialect), operator }] };
}

/** Equivalent selectors of version 1beta1 and version 1. */
function pairs(dialect: Dialect): readonly (readonly [beta: LabelSelector, stable: LabelSelector])[] {
  return [
    [empty, byLabel('Exists', dialect)],
    [byLabel('DoesNotExist', dialect), empty],
  ];
}

/** An empty selector selects nothing in v1beta1, everything in v1. A label that no pod has converts between both. */
const podDisruptionBudgetV1beta1Conversion: Conversion<PodDisruptionBudget, Stored> = {
  toStored(budget, { dialect }) {
    const { selector } = budget.spec;
    const other = pairs(dialect).find(([beta]) => selector !== undefined && semanticEqual(selector, beta))?.[1];
    return {
      ...budget,
      apiVersion: dialect.apiVersion('policy', 'v1'),
      spec: other === undefined ? budget.spec : { ...budget.spec, selector: other },
    };
  },
  fromStored(budget, { dialect }) {
    const { selector } = budget.spec;
    const other = pairs(dialect).find(([, stable]) => selector !== undefined && semanticEqual(selector, stable))?.[0];
    return {
      ...budget,
      apiVersion: dialect.apiVersion('policy', 'v1beta1'),
      spec: other === undefined ? budget.spec : { ...budget.spec, selector: other },
    };
  },
};

export const podDisruptionBudgetV1beta1Strategy: Strategy<PodDisruptionBudget> = convertedStrategy<
  PodDisruptionBudget,
  Stored
>(betaBudgets, {
  conversion: podDisruptionBudgetV1beta1Conversion,
  // Its counts are not validated.
  stored: kindStrategy(poddisruptionbudgets, { ...budgetRules, validateStatusUpdate: validateBudgetConditions }),
});
