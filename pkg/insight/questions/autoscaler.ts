/** Why an autoscaler does not scale. */

import type { HorizontalPodAutoscaler } from '#api/autoscaling/v2/types.gen.js';
import { getCondition } from '#api/meta/v1/condition/conditions.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import { conditionText, finding, specEvidence, statusEvidence } from '#insight/questions/parts.js';
import { question } from '#insight/questions/termination.js';

export const whyAutoscaler = question<HorizontalPodAutoscaler>(
  'HorizontalPodAutoscaler',
  async (_inquiry, autoscaler, subject) => {
    const { conditions = [] } = autoscaler.status ?? {};
    const able = getCondition(conditions, 'AbleToScale');
    if (able?.status === 'False') return [unable(autoscaler, subject, able)];
    const active = getCondition(conditions, 'ScalingActive');
    if (active?.status === 'False') return [inactive(subject, active)];
    const limited = getCondition(conditions, 'ScalingLimited');
    if (limited?.status === 'True' && limited.reason === 'TooManyReplicas') {
      const { maxReplicas = 0 } = autoscaler.spec ?? {};
      return [
        finding({
          subject,
          reason: 'AtMaximum',
          summary: `The metrics ask for more pods than the maximum of ${maxReplicas}.`,
          evidence: [
            statusEvidence('conditions.ScalingLimited', conditionText(limited)),
            specEvidence('spec.maxReplicas', String(maxReplicas)),
          ],
          remedies: [{ action: 'Raise maxReplicas, if the nodes have room for more pods.' }],
        }),
      ];
    }
    return [];
  },
);

type Condition = Parameters<typeof conditionText>[0];

function unable({ spec }: HorizontalPodAutoscaler, subject: Subject, able: Condition): Finding {
  const { kind = '', name = '' } = spec?.scaleTargetRef ?? {};
  const isMissing = able.reason === 'FailedGetScale';
  return finding({
    subject,
    reason: isMissing ? 'TargetMissing' : (able.reason ?? 'UnableToScale'),
    summary: isMissing
      ? `${kind} ${name}, which is to be scaled, cannot be read.`
      : `${kind} ${name} cannot be scaled.`,
    evidence: [statusEvidence('conditions.AbleToScale', conditionText(able))],
    remedies: [{ action: isMissing ? 'Create it, or correct spec.scaleTargetRef.' : 'Change what the message names.' }],
  });
}

function inactive(subject: Subject, active: Condition): Finding {
  const text = conditionText(active);
  const [reason, summary, action] =
    active.reason === 'ScalingDisabled'
      ? [
          'ScalingDisabled',
          'The target has 0 replicas, so that it is not scaled.',
          'Scale the target to at least one replica.',
        ]
      : /missing request for/.test(text)
        ? [
            'RequestsMissing',
            'The containers of the target have no request for the resource that is measured.',
            'Set requests in the template of the target.',
          ]
        : /no metrics returned|unable to fetch metrics|could not find the requested resource|the server is currently unable/.test(
              text,
            )
          ? ['MetricsMissing', 'The metrics of the pods cannot be read.', 'Check that the metrics API answers.']
          : [
              active.reason ?? 'ScalingInactive',
              'The autoscaler cannot compute a number of replicas.',
              'Change what the message names.',
            ];
  return finding({
    ...{ subject, reason, summary },
    evidence: [statusEvidence('conditions.ScalingActive', text)],
    remedies: [{ action, ...(reason === 'MetricsMissing' ? { command: 'top pods' } : {}) }],
  });
}
