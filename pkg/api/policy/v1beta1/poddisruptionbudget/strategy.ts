/** What is particular to disruption budgets of version 1beta1. */

import { budgetRules, validateBudgetConditions } from '#api/policy/v1/poddisruptionbudget/strategy.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import type { PodDisruptionBudget as Stored } from '#api/policy/v1/types.gen.js';
import { podDisruptionBudgetV1beta1Conversion } from '#api/policy/v1beta1/poddisruptionbudget/conversion.js';
import { poddisruptionbudgets as betaBudgets } from '#api/policy/v1beta1/resources.gen.js';
import type { PodDisruptionBudget } from '#api/policy/v1beta1/types.gen.js';
import { convertedStrategy } from '#api/strategy/converted-strategy.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';

export const podDisruptionBudgetV1beta1Strategy: Strategy<PodDisruptionBudget> = convertedStrategy<
  PodDisruptionBudget,
  Stored
>(betaBudgets, {
  conversion: podDisruptionBudgetV1beta1Conversion,
  // Its counts were never looked at.
  stored: kindStrategy(poddisruptionbudgets, { ...budgetRules, validateStatusUpdate: validateBudgetConditions }),
});
