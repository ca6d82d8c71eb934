/** Why a controller cannot create pods: quota, admission, account. */
import type { Event } from '#api/core/v1/types.gen.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import { eventEvidence, finding, namespaceFlag, statusEvidence } from '#insight/questions/parts.js';

interface Kind {
  readonly pattern: RegExp;
  readonly reason: string;
  readonly summary: string;
  readonly action: string;
  readonly command?: string;
}

const kinds: readonly Kind[] = [
  {
    pattern: /exceeded quota/,
    reason: 'QuotaExceeded',
    summary: 'A ResourceQuota of the namespace allows no more pods of this size.',
    action: 'Raise the quota, remove other objects, or lower the requests.',
    command: 'describe resourcequota',
  },
  {
    pattern: /must specify (?:limits|requests)|failed quota/,
    reason: 'QuotaNeedsRequests',
    summary: 'A ResourceQuota of the namespace demands requests or limits that the pods do not have.',
    action: 'Set them in the template, or give the namespace a LimitRange with defaults.',
  },
  {
    pattern: /violates PodSecurity/,
    reason: 'PodSecurityViolated',
    summary: 'The Pod Security level of the namespace forbids these pods.',
    action: 'Change the security context of the template, or the level of the namespace.',
  },
  {
    pattern: /serviceaccount .*not found|service account .* not found|looking up service account/i,
    reason: 'ServiceAccountMissing',
    summary: 'The service account of the pods does not exist.',
    action: 'Create the service account.',
  },
  {
    pattern: /(?:minimum|maximum) (?:cpu|memory|\S+) usage per|LimitRange|max limit to request ratio/,
    reason: 'LimitRangeViolated',
    summary: 'A LimitRange of the namespace forbids these requests or limits.',
    action: 'Change the requests and limits of the template, or the LimitRange.',
    command: 'describe limitrange',
  },
  {
    pattern: /admission webhook "[^"]*" denied/,
    reason: 'WebhookDenied',
    summary: 'An admission webhook refuses the pods.',
    action: 'Change the template as the webhook says, or change its configuration.',
  },
  {
    pattern: /failed calling webhook/,
    reason: 'WebhookFails',
    summary: 'An admission webhook for pods does not answer.',
    action: 'Repair the service of the webhook, or remove its configuration.',
  },
  {
    pattern: /no PriorityClass with name/,
    reason: 'PriorityClassMissing',
    summary: 'The PriorityClass of the pods does not exist.',
    action: 'Create the class, or name another one in the template.',
  },
  {
    pattern: /is forbidden/,
    reason: 'PodsForbidden',
    summary: 'The API server refuses to create the pods.',
    action: 'Change the template as the message says.',
  },
  {
    pattern: /is invalid/,
    reason: 'TemplateInvalid',
    summary: 'The template makes no valid pod.',
    action: 'Correct the field that the message names.',
  },
];

const anyKind: Kind = {
  pattern: /(?:)/,
  reason: 'PodsNotCreated',
  summary: 'The pods cannot be created.',
  action: 'Change what the message names.',
};

/** The finding for a refusal; `at`: the condition that tells of it. */
export function creationFinding(subject: Subject, at: string, message: string): Finding {
  const kind = kinds.find(({ pattern }) => pattern.test(message)) ?? anyKind;
  return finding({
    subject,
    reason: kind.reason,
    summary: kind.summary,
    evidence: [statusEvidence(at, message)],
    remedies: [
      {
        action: kind.action,
        ...(kind.command === undefined ? {} : { command: `${kind.command}${namespaceFlag(subject)}` }),
      },
    ],
  });
}

/** The newest refusal, unless the controller has created a pod since. */
export function creationFailure(subject: Subject, events: readonly Event[]): Finding | undefined {
  for (const event of events) {
    if (event.reason === 'SuccessfulCreate') return undefined;
    if (event.reason !== 'FailedCreate') continue;
    const refusal = creationFinding(subject, 'FailedCreate', event.message ?? '');
    return { ...refusal, evidence: [eventEvidence(event)] };
  }
  return undefined;
}
