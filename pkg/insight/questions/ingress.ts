/** Why an ingress leads nowhere: class, backends, certificates. */
import { secrets, services } from '#api/core/v1/resources.gen.js';
import { ingressclasses } from '#api/networking/v1/resources.gen.js';
import type { Ingress, IngressBackend, IngressTLS } from '#api/networking/v1/types.gen.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { certificateProblems } from '#insight/questions/certificates.js';
import { finding, specEvidence, subjectOf } from '#insight/questions/parts.js';
import { whyService } from '#insight/questions/service.js';
import { question } from '#insight/questions/termination.js';

export const whyIngress = question<Ingress>('Ingress', async (inquiry, ingress, subject) => {
  const all: Finding[] = [...(await classFindings(inquiry, ingress, subject))];
  const { defaultBackend, rules = [], tls = [] } = ingress.spec ?? {};
  const backends = new Map<string, IngressBackend>();
  for (const backend of [
    defaultBackend,
    ...rules.flatMap(({ http }) => (http?.paths ?? []).map((path) => path.backend)),
  ])
    if (backend?.service !== undefined) backends.set(JSON.stringify(backend.service), backend);
  for (const backend of backends.values()) all.push(...(await backendFindings(inquiry, subject, backend)));
  for (const each of tls) all.push(...(await certificateFindings(inquiry, ingress, subject, each)));
  return all;
});

async function classFindings(inquiry: Inquiry, ingress: Ingress, subject: Subject): Promise<readonly Finding[]> {
  const name = ingress.spec?.ingressClassName ?? '';
  const classes = await inquiry.list(ingressclasses, {});
  if (classes === undefined) return [];
  const names = classes.map(({ metadata }) => metadata.name ?? '');
  if (name === '' || names.includes(name)) {
    if (name !== '' || names.length > 0 || ingress.metadata.annotations?.['kubernetes.io/ingress.class'] !== undefined)
      return [];
    return [
      finding({
        subject,
        reason: 'NoIngressClass',
        summary: 'The ingress names no class, and the cluster has none: no controller handles it.',
        evidence: [specEvidence('spec.ingressClassName', 'not set')],
        remedies: [{ action: 'Install an ingress controller, and name its class.' }],
      }),
    ];
  }
  return [
    finding({
      subject,
      reason: 'IngressClassMissing',
      summary: `IngressClass ${name} does not exist.`,
      evidence: [specEvidence('spec.ingressClassName', name)],
      remedies: [
        {
          action:
            names.length === 0 ? 'Install an ingress controller.' : `Name one of the classes: ${names.join(', ')}.`,
        },
      ],
    }),
  ];
}

async function backendFindings(
  inquiry: Inquiry,
  subject: Subject,
  { service: backend }: IngressBackend,
): Promise<readonly Finding[]> {
  if (backend === undefined) return [];
  const { name, port } = backend;
  const { namespace = '' } = subject;
  const service = await inquiry.get(services, name, namespace);
  if (service.state === 'unreadable') return [];
  if (service.state === 'absent')
    return [
      finding({
        subject,
        reason: 'ServiceMissing',
        summary: `Service ${name} of the ingress does not exist.`,
        evidence: [specEvidence('backend.service.name', name)],
        remedies: [{ action: 'Create the service, or correct its name in the ingress.' }],
      }),
    ];
  const ports = service.object.spec?.ports ?? [];
  const hasPort = ports.some((each) =>
    port?.name !== undefined && port.name !== '' ? each.name === port.name : each.port === port?.number,
  );
  if (!hasPort)
    return [
      finding({
        subject,
        reason: 'ServicePortMissing',
        summary: `Service ${name} has no port ${port?.name ?? port?.number ?? ''}.`,
        evidence: [
          specEvidence(
            'spec.ports',
            ports.map((each) => `${each.name ?? ''} ${each.port}`.trim()).join(', '),
            subjectOf('Service', service.object),
          ),
        ],
        remedies: [{ action: 'Correct the port of the backend in the ingress.' }],
      }),
    ];
  const causes = await inquiry.causes(subjectOf('Service', service.object), whyService, service.object);
  if (causes.length === 0) return [];
  return [
    finding({
      ...{ subject, causes },
      reason: 'BackendDown',
      summary: `Service ${name} of the ingress does not answer.`,
    }),
  ];
}

async function certificateFindings(
  inquiry: Inquiry,
  ingress: Ingress,
  subject: Subject,
  { secretName = '', hosts = [] }: IngressTLS,
): Promise<readonly Finding[]> {
  if (secretName === '') return [];
  const secret = await inquiry.get(secrets, secretName, ingress.metadata.namespace ?? '');
  if (secret.state === 'unreadable') return [];
  const evidence = [specEvidence('spec.tls.secretName', secretName)];
  if (secret.state === 'absent')
    return [
      finding({
        ...{ subject, evidence },
        reason: 'CertificateMissing',
        summary: `Secret ${secretName} with the certificate of the ingress does not exist.`,
        remedies: [{ action: 'Create the secret.', command: `create secret tls ${secretName} --cert=FILE --key=FILE` }],
      }),
    ];
  return certificateProblems(inquiry.nowMs, secret.object, hosts).map(({ reason, summary, action }) =>
    finding({
      ...{ subject, reason, summary, evidence },
      remedies: [{ action }],
    }),
  );
}
