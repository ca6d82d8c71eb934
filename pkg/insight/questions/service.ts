/** Why a service has no endpoints, no address, or does not answer. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod, Service, ServicePort } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { networkpolicies } from '#api/networking/v1/resources.gen.js';
import { compileSelector, selectorFromLabels } from '#apimachinery/selectors/labels.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { ageMs, counted, eventEvidence, finding, specEvidence, subjectOf } from '#insight/questions/parts.js';
import { isPodFine } from '#insight/questions/pod.js';
import { podGroups } from '#insight/questions/pods-of.js';
import { question } from '#insight/questions/termination.js';

/** A provider may take this long for a load balancer. */
const balancerMs = 30_000;

export const whyService = question<Service>('Service', async (inquiry, service, subject) => {
  const { type, selector } = service.spec ?? {};
  if (type === 'ExternalName') return [];
  const all: Finding[] = [];
  if (selector === undefined || Object.keys(selector).length === 0)
    all.push(...(await ownEndpoints(inquiry, service, subject)));
  else all.push(...(await endpointFindings(inquiry, service, subject, selector)));
  if (type === 'LoadBalancer') all.push(...(await balancerFindings(inquiry, service, subject)));
  return all;
});

async function endpointFindings(
  inquiry: Inquiry,
  service: Service,
  subject: Subject,
  selector: Readonly<Record<string, string>>,
): Promise<readonly Finding[]> {
  const { namespace = '' } = service.metadata;
  const labelSelector = String(selectorFromLabels(selector));
  const matching = (await inquiry.list(pods, { namespace, labelSelector }))?.filter(
    ({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed',
  );
  if (matching === undefined) return [];
  if (matching.length === 0) return [await noPods(inquiry, subject, selector, namespace)];
  const ready = matching.filter(isPodFine);
  if (ready.length === 0) {
    const causes = await podGroups(inquiry, subject, matching);
    // Pods that are about to be ready are no trouble.
    if (causes.length === 0) return [];
    return [
      finding({
        ...{ subject, causes },
        reason: 'NoReadyPods',
        summary: `None of the ${counted(matching.length, 'pod')} of the service is ready.`,
      }),
    ];
  }
  const ports = (service.spec?.ports ?? []).flatMap((port) => portFinding(subject, port, ready) ?? []);
  if (ports.length > 0) return ports;
  return policyFindings(inquiry, subject, ready, namespace);
}

/** The selector fits no pod: shows the pods that come nearest. */
async function noPods(
  inquiry: Inquiry,
  subject: Subject,
  selector: Readonly<Record<string, string>>,
  namespace: string,
): Promise<Finding> {
  const near = (await nearPods(inquiry, selector, namespace))
    .map((pod) => ({ pod, lacking: lackingLabels(selector, pod) }))
    .filter(({ lacking }) => lacking.length < Object.keys(selector).length)
    .sort((a, b) => a.lacking.length - b.lacking.length)[0];
  return finding({
    subject,
    reason: 'SelectorMatchesNothing',
    summary:
      near === undefined
        ? 'No pod of the namespace has the labels that the service selects.'
        : `No pod has all labels that the service selects; pod ${near.pod.metadata.name ?? ''} lacks ${near.lacking.join(', ')}.`,
    evidence: [
      specEvidence('spec.selector', String(selectorFromLabels(selector))),
      near && {
        source: 'metadata',
        of: subjectOf('Pod', near.pod),
        at: 'metadata.labels',
        text: String(selectorFromLabels(near.pod.metadata.labels)),
      },
    ],
    remedies: [
      near === undefined
        ? { action: 'Create the pods, or correct the selector.' }
        : { action: 'Correct the selector of the service, or the labels in the template of the pods.' },
    ],
  });
}

/** Pods per combination of labels. */
const maxNear = 20;
/** Combinations of labels that are tried. */
const maxCombinations = 12;

/** Pods with all labels but one, and with any of them: a large namespace is not read as a whole. */
async function nearPods(
  inquiry: Inquiry,
  selector: Readonly<Record<string, string>>,
  namespace: string,
): Promise<readonly Pod[]> {
  const labels = Object.entries(selector);
  const combinations = new Set([
    ...labels.map((label) => String(selectorFromLabels(Object.fromEntries(labels.filter((each) => each !== label))))),
    ...labels.map((label) => String(selectorFromLabels(Object.fromEntries([label])))),
  ]);
  combinations.delete('');
  const near = new Map<string, Pod>();
  for (const labelSelector of [...combinations].slice(0, maxCombinations)) {
    const all = (await inquiry.list(pods, { namespace, labelSelector, limit: maxNear })) ?? [];
    for (const pod of all) near.set(pod.metadata.name ?? '', pod);
  }
  return [...near.values()];
}

function lackingLabels(selector: Readonly<Record<string, string>>, pod: Pod): string[] {
  const labels = pod.metadata.labels ?? {};
  return Object.entries(selector)
    .filter(([key, value]) => labels[key] !== value)
    .map(([key, value]) => `${key}=${value}`);
}

/** A named target port that no container has. */
function portFinding(
  subject: Subject,
  { name = '', port, targetPort, protocol = 'TCP' }: ServicePort,
  ready: readonly Pod[],
) {
  const target = String(targetPort ?? port);
  const declared = ready.flatMap(({ spec }) => spec.containers.flatMap(({ ports = [] }) => ports));
  if (typeof targetPort !== 'string' || /^[0-9]+$/.test(targetPort)) return undefined;
  if (declared.some((each) => each.name === target && (each.protocol ?? 'TCP') === protocol)) return undefined;
  const names = [
    ...new Set(declared.map((each) => `${each.name ?? ''} ${each.containerPort}/${each.protocol ?? 'TCP'}`.trim())),
  ];
  return finding({
    subject,
    reason: 'TargetPortMissing',
    summary: `No container of the ready pods has a port with the name ${target}, so that port ${name === '' ? port : name} of the service leads nowhere.`,
    evidence: [
      specEvidence('spec.ports.targetPort', target),
      specEvidence(
        'containers.ports',
        names.length === 0 ? 'none' : names.join(', '),
        subjectOf('Pod', ready[0] as Pod),
      ),
    ],
    remedies: [{ action: 'Correct targetPort, or give the port of the container that name.' }],
  });
}

/** A policy that lets no traffic in. */
async function policyFindings(
  inquiry: Inquiry,
  subject: Subject,
  ready: readonly Pod[],
  namespace: string,
): Promise<readonly Finding[]> {
  const policies = (await inquiry.list(networkpolicies, { namespace })) ?? [];
  const about = policies.filter(
    ({ spec }) =>
      (spec?.policyTypes ?? ['Ingress']).includes('Ingress') &&
      ready.every(({ metadata }) => compileSelector(spec?.podSelector)?.matches(metadata.labels) === true),
  );
  if (about.length === 0 || about.some(({ spec }) => (spec?.ingress ?? []).length > 0)) return [];
  return [
    finding({
      subject,
      reason: 'PolicyDeniesAll',
      summary: `NetworkPolicy ${about[0]?.metadata.name ?? ''} lets no traffic reach the pods of the service.`,
      evidence: about
        .slice(0, 3)
        .map((policy) => specEvidence('spec.ingress', 'empty', subjectOf('NetworkPolicy', policy))),
      remedies: [{ action: 'Add a policy that allows the clients of the service.' }],
    }),
  ];
}

/** A service without a selector gets its endpoints from its users. */
async function ownEndpoints(inquiry: Inquiry, service: Service, subject: Subject): Promise<readonly Finding[]> {
  const { name = '', namespace = '' } = service.metadata;
  const label = inquiry.dialect.labels.serviceName;
  const slices = await inquiry.list(endpointslices, { namespace, labelSelector: `${label}=${name}` });
  if (slices === undefined || slices.some(({ endpoints = [] }) => endpoints.length > 0)) return [];
  const { apiServiceName, namespaces } = inquiry.dialect;
  if (name === apiServiceName && namespace === namespaces.default)
    return [
      finding({
        subject,
        reason: 'ApiNotPublished',
        summary: 'No API server has published an address that pods can reach: they listen on loopback, or do not run.',
        evidence: [specEvidence('spec.selector', 'empty')],
        remedies: [{ action: 'Start the API servers with --advertise-address, an address that pods can reach.' }],
      }),
    ];
  return [
    finding({
      subject,
      reason: 'NoEndpoints',
      summary: 'The service has no selector, and no Endpoints or EndpointSlice of its name exist.',
      evidence: [specEvidence('spec.selector', 'empty')],
      remedies: [{ action: 'Add a selector, or create Endpoints with the name of the service.' }],
    }),
  ];
}

async function balancerFindings(inquiry: Inquiry, service: Service, subject: Subject): Promise<readonly Finding[]> {
  if ((service.status?.loadBalancer?.ingress ?? []).length > 0) return [];
  const events = await inquiry.events(subject);
  const failure = events.find(
    ({ reason = '' }) => /LoadBalancer(?:Failed)?$/.test(reason) && /Fail|Error/.test(reason),
  );
  if (failure !== undefined)
    return [
      finding({
        subject,
        reason: 'LoadBalancerFailed',
        summary: 'The load balancer cannot be set up.',
        evidence: [eventEvidence(failure)],
        remedies: [{ action: 'Change what the message names.' }],
      }),
    ];
  if (ageMs(service.metadata.creationTimestamp, inquiry.nowMs) < balancerMs) return [];
  return [
    finding({
      subject,
      reason: 'NoLoadBalancer',
      summary: 'No provider has given the service a load balancer.',
      evidence: [specEvidence('spec.type', 'LoadBalancer')],
      remedies: [
        {
          action:
            'Install a provider of load balancers, or check that it has free addresses; a service of type NodePort needs none.',
        },
      ],
    }),
  ];
}
