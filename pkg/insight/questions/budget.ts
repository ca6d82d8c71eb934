/** Why a disruption budget blocks evictions, and thereby drains. */

import { pods } from '#api/core/v1/resources.gen.js';
import { getCondition } from '#api/meta/v1/condition/conditions.js';
import type { PodDisruptionBudget } from '#api/policy/v1/types.gen.js';
import { compileSelector } from '#apimachinery/selectors/labels.js';
import { conditionText, counted, finding, specEvidence, statusEvidence } from '#insight/questions/parts.js';
import { podGroups } from '#insight/questions/pods-of.js';
import { question } from '#insight/questions/termination.js';

export const whyBudget = question<PodDisruptionBudget>('PodDisruptionBudget', async (inquiry, budget, subject) => {
  const { spec, status } = budget;
  const { namespace = '' } = budget.metadata;
  const allowed = getCondition(status?.conditions, 'DisruptionAllowed');
  if (allowed?.reason === 'SyncFailed')
    return [
      finding({
        subject,
        reason: 'BudgetFails',
        summary: 'The budget cannot be computed, so that it allows no eviction.',
        evidence: [statusEvidence('conditions.DisruptionAllowed', conditionText(allowed))],
        remedies: [{ action: 'Use minAvailable with a number, or select pods of controllers that can be scaled.' }],
      }),
    ];
  if (status === undefined || status.disruptionsAllowed > 0 || status.expectedPods === 0) return [];
  const { currentHealthy, desiredHealthy, expectedPods } = status;
  const bound =
    spec?.minAvailable === undefined
      ? `maxUnavailable ${spec?.maxUnavailable ?? ''}`
      : `minAvailable ${spec.minAvailable}`;
  const evidence = [
    specEvidence('spec', bound),
    statusEvidence(
      'status',
      `${currentHealthy} of ${counted(expectedPods, 'pod')} healthy, ${desiredHealthy} must stay`,
    ),
  ];
  if (desiredHealthy >= expectedPods)
    return [
      finding({
        ...{ subject, evidence },
        reason: 'BudgetAllowsNone',
        summary: `The budget (${bound}) never allows an eviction: all ${counted(expectedPods, 'pod')} must stay.`,
        remedies: [{ action: 'Lower minAvailable or raise maxUnavailable, or run more pods.' }],
      }),
    ];
  const selector = compileSelector(spec?.selector);
  const matching =
    selector === undefined ? [] : await inquiry.list(pods, { namespace, labelSelector: String(selector) });
  return [
    finding({
      ...{ subject, evidence },
      reason: 'TooFewHealthy',
      summary: `The budget allows no eviction, because only ${currentHealthy} of ${counted(expectedPods, 'pod')} are healthy.`,
      causes: await podGroups(inquiry, subject, matching ?? []),
    }),
  ];
});
