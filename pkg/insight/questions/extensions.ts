/** Why definitions, API services and webhooks do not work. */

import type { MutatingWebhookConfiguration } from '#api/admissionregistration/v1/types.gen.js';
import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import type { APIService } from '#api/apiregistration/v1/types.gen.js';
import { services } from '#api/core/v1/resources.gen.js';
import { getCondition } from '#api/meta/v1/condition/conditions.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { bundleProblem } from '#insight/questions/certificates.js';
import {
  conditionText,
  finding,
  isDeleted,
  specEvidence,
  statusEvidence,
  subjectOf,
} from '#insight/questions/parts.js';
import { whyService } from '#insight/questions/service.js';
import { question, whyTerminating } from '#insight/questions/termination.js';

export async function whyDefinition(
  inquiry: Inquiry,
  definition: CustomResourceDefinition,
): Promise<readonly Finding[]> {
  const subject = subjectOf('CustomResourceDefinition', definition);
  const { conditions } = definition.status ?? {};
  if (isDeleted(definition)) {
    const terminating = getCondition(conditions, 'Terminating');
    const blocked = whyTerminating(inquiry, definition, 'CustomResourceDefinition');
    return blocked.map((each) => ({
      ...each,
      evidence: [
        ...each.evidence,
        ...(terminating === undefined ? [] : [statusEvidence('conditions.Terminating', conditionText(terminating))]),
      ].filter((evidence) => evidence !== undefined),
    }));
  }
  const all: Finding[] = [];
  const add = (type: string, bad: string, reason: string, summary: string, action: string) => {
    const condition = getCondition(conditions, type);
    if (condition?.status !== bad) return;
    all.push(
      finding({
        ...{ subject, reason, summary },
        evidence: [statusEvidence(`conditions.${type}`, conditionText(condition))],
        remedies: [{ action }],
      }),
    );
  };
  add(
    'NamesAccepted',
    'False',
    'NamesTaken',
    'Another definition has the names of this one.',
    'Choose other names, or delete the other definition.',
  );
  add(
    'KubernetesAPIApprovalPolicyConformant',
    'False',
    'GroupProtected',
    'The group of the definition is protected and needs an annotation of approval.',
    'Choose a group of your own, or set the annotation that the message names.',
  );
  add(
    'NonStructuralSchema',
    'True',
    'SchemaNotStructural',
    'The schema of the definition is not structural.',
    'Correct the schema as the message says.',
  );
  if (all.length === 0 && getCondition(conditions, 'Established')?.status === 'False')
    add('Established', 'False', 'NotEstablished', 'The definition is not served.', 'Change what the message names.');
  const service = definition.spec.conversion?.webhook?.clientConfig?.service;
  if (service !== undefined)
    all.push(...(await backend(inquiry, subject, 'WebhookDown', service.namespace, service.name)));
  return all;
}

/** A service that the subject calls. */
async function backend(
  inquiry: Inquiry,
  subject: Subject,
  reason: string,
  namespace: string,
  name: string,
): Promise<readonly Finding[]> {
  const of = { kind: 'Service', namespace, name };
  const service = await inquiry.get(services, name, namespace);
  if (service.state === 'unreadable') return [];
  if (service.state === 'absent')
    return [
      finding({
        subject,
        reason: 'ServiceMissing',
        summary: `Service ${namespace}/${name}, which is to be called, does not exist.`,
        evidence: [specEvidence('service', `${namespace}/${name}`)],
        remedies: [{ action: `Install what brings the service, or delete the ${subject.kind}.` }],
      }),
    ];
  const causes = await inquiry.causes(of, whyService, service.object);
  if (causes.length === 0) return [];
  return [
    finding({
      ...{ subject, reason, causes },
      summary: `Service ${namespace}/${name}, which is to be called, does not answer.`,
    }),
  ];
}

export const whyApiService = question<APIService>('APIService', async (inquiry, apiService, subject) => {
  const available = getCondition(apiService.status?.conditions, 'Available');
  if (available?.status !== 'False') return [];
  const { service, group = '', version = '' } = apiService.spec ?? {};
  const causes =
    service === undefined
      ? []
      : await backend(inquiry, subject, 'ServiceDown', service.namespace ?? '', service.name ?? '');
  return [
    finding({
      ...{ subject, causes },
      reason: 'ApiUnavailable',
      summary: `The API ${group}/${version} is not available, because its server does not answer.`,
      evidence: [statusEvidence('conditions.Available', conditionText(available))],
      remedies: causes.length > 0 ? [] : [{ action: 'Check the server behind the service, and spec.caBundle.' }],
    }),
  ];
});

/** Of both kinds of webhook configurations. */
export async function whyWebhooks(
  inquiry: Inquiry,
  configuration: Pick<MutatingWebhookConfiguration, 'metadata' | 'kind'> & {
    readonly webhooks?: readonly {
      readonly name: string;
      readonly failurePolicy?: string;
      readonly clientConfig: {
        readonly caBundle?: string;
        readonly service?: { readonly namespace: string; readonly name: string };
      };
    }[];
  },
): Promise<readonly Finding[]> {
  const subject = subjectOf(configuration.kind ?? 'MutatingWebhookConfiguration', configuration);
  const all: Finding[] = [];
  for (const { name, clientConfig, failurePolicy = 'Fail' } of configuration.webhooks ?? []) {
    const { service, caBundle = '' } = clientConfig;
    const problem = caBundle === '' ? undefined : bundleProblem(inquiry.nowMs, caBundle);
    if (problem !== undefined) all.push(invalidAuthorities(subject, name, problem));
    if (service === undefined) continue;
    const causes = await backend(inquiry, subject, 'ServiceDown', service.namespace, service.name);
    if (causes.length === 0) continue;
    const effect =
      failurePolicy === 'Fail'
        ? 'every request that it matches is refused'
        : 'every request that it matches waits for it in vain and is let through';
    all.push(
      finding({
        ...{ subject, causes },
        reason: 'WebhookDown',
        summary: `Webhook ${name} cannot be called: ${effect}.`,
        evidence: [specEvidence('failurePolicy', failurePolicy)],
        remedies: [
          {
            action: 'If it is not needed, delete the configuration.',
            command: `delete ${subject.kind.toLowerCase()} ${subject.name}`,
          },
        ],
      }),
    );
  }
  return all;
}

function invalidAuthorities(subject: Subject, webhook: string, problem: string): Finding {
  return finding({
    subject,
    reason: 'AuthoritiesInvalid',
    summary: `The certificate of webhook ${webhook} cannot be verified by its caBundle: ${problem}.`,
    evidence: [specEvidence('clientConfig.caBundle', problem)],
    remedies: [{ action: 'Put the authority of the present certificate of the webhook into caBundle.' }],
  });
}
