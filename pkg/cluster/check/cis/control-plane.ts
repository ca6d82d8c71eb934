/** Sections 1.3, 1.4 and 3 of the CIS benchmark for release 1.24: controllers, scheduler, people and the audit log. */
import { type AuditedInfo, PolicyRules } from '#apiserver/audit/policy.js';
import type { Check } from '#cluster/check/cis/check.js';
import type { ServerFacts } from '#cluster/check/cis/facts.js';
import { apiServerArg, isSet, unsetOptions } from '#cluster/check/cis/option-values.js';

type Row = Check<ServerFacts>;

const oneProcess = ({ isOneProcess }: ServerFacts) =>
  isOneProcess ? 'it runs in the process of the API server and has no file, port or option for this' : undefined;

const missing = (names: readonly string[], { controllerManager }: ServerFacts) =>
  unsetOptions(names, (name) => (controllerManager as Readonly<Record<string, unknown>>)[name] as string | undefined);

const loops: readonly Row[] = [
  {
    id: '1.3.1',
    title: 'Ended pods are deleted above a number',
    isManual: true,
    problem: (facts) =>
      facts.controllerManager['terminated-pod-gc-threshold'] > 0 ? undefined : '--terminated-pod-gc-threshold is 0',
    remedy: 'orch up --controller-manager-arg=terminated-pod-gc-threshold=12500',
  },
  {
    id: '1.3.2',
    title: 'The controller manager serves no profiles',
    problem: (facts) => (facts.controllerManager.profiling ? '--profiling is true' : undefined),
    remedy: 'orch up --controller-manager-arg=profiling=false',
  },
  {
    id: '1.3.3',
    title: 'Each controller acts as its own service account',
    problem: (facts) =>
      facts.controllerManager['use-service-account-credentials']
        ? undefined
        : '--use-service-account-credentials is false',
    remedy: 'orch up --controller-manager-arg=use-service-account-credentials=true',
  },
  {
    id: '1.3.4',
    title: 'The controller manager signs service account tokens with the key of their own',
    exempt: oneProcess,
    problem: (facts) => missing(['service-account-private-key-file'], facts),
  },
  {
    id: '1.3.5',
    title: 'Pods get the authority that verifies the API server',
    exempt: oneProcess,
    problem: (facts) => missing(['root-ca-file'], facts),
  },
  {
    id: '1.3.6',
    title: 'Serving certificates of node agents are renewed',
    problem: (facts) =>
      facts.controllerManager['feature-gates']['RotateKubeletServerCertificate'] === false
        ? 'the gate RotateKubeletServerCertificate is off'
        : undefined,
    remedy: 'leave the gate RotateKubeletServerCertificate on',
  },
  {
    id: '1.3.7',
    title: 'The controller manager serves this machine only',
    exempt: oneProcess,
    problem: (facts) => notLoopback(facts.controllerManager['bind-address']),
    remedy: 'orch up --controller-manager-arg=bind-address=127.0.0.1',
  },
  {
    id: '1.4.1',
    title: 'The scheduler serves no profiles',
    problem: (facts) => (facts.scheduler.profiling ? '--profiling is true' : undefined),
    remedy: 'orch up --scheduler-arg=profiling=false',
  },
  {
    id: '1.4.2',
    title: 'The scheduler serves this machine only',
    exempt: oneProcess,
    problem: (facts) => notLoopback(facts.scheduler['bind-address']),
    remedy: 'orch up --scheduler-arg=bind-address=127.0.0.1',
  },
];

function notLoopback(address: string): string | undefined {
  return address === '127.0.0.1' || address === '::1' ? undefined : `--bind-address is ${address}`;
}

const configuration: readonly Row[] = [
  {
    id: '3.1.1',
    title: 'People do not use client certificates',
    isManual: true,
    problem: (facts) =>
      isSet(facts.apiServer['oidc-issuer-url'])
        ? undefined
        : 'no OpenID Connect issuer is set; certificates cannot be withdrawn before they end',
    remedy: apiServerArg('oidc-issuer-url=URL, with oidc-client-id'),
  },
  {
    id: '3.2.1',
    title: 'There is an audit policy',
    isManual: true,
    problem: ({ policy }) => (policy === undefined ? '--audit-policy-file is not set' : undefined),
    remedy: apiServerArg('audit-policy-file=FILE, see docs/audit.md'),
  },
  {
    id: '3.2.2',
    title: 'The audit policy covers secrets, config maps, token reviews, and changes of pods and deployments',
    isManual: true,
    problem: uncovered,
    remedy: 'record them at the level Metadata, see docs/audit.md',
  },
];

/** Requests of a person that the audit log must have. */
const mustRecord: readonly Pick<AuditedInfo, 'group' | 'resource' | 'subresource' | 'verb'>[] = [
  { group: '', resource: 'secrets', subresource: '', verb: 'get' },
  { group: '', resource: 'configmaps', subresource: '', verb: 'update' },
  { group: '', resource: 'pods', subresource: '', verb: 'create' },
  { group: '', resource: 'pods', subresource: 'exec', verb: 'create' },
  { group: '', resource: 'pods', subresource: 'portforward', verb: 'create' },
  { group: '', resource: 'services', subresource: 'proxy', verb: 'get' },
  { group: 'apps', resource: 'deployments', subresource: '', verb: 'delete' },
];

function uncovered({ policy, dialect }: ServerFacts): string | undefined {
  if (policy === undefined) return 'there is no audit policy';
  const rules = new PolicyRules(policy);
  const user = { name: 'person', groups: [dialect.groups.authenticated] };
  const requests = [
    ...mustRecord,
    { group: dialect.groupName('authentication'), resource: 'tokenreviews', subresource: '', verb: 'create' },
  ];
  const unrecorded = requests.filter((request) => {
    const info = { ...request, resourceRequest: true, path: '', namespace: 'default', name: 'x' };
    return rules.recordingOf(info, user).level === 'None';
  });
  if (unrecorded.length === 0) return undefined;
  const texts = unrecorded.map(
    ({ verb, resource, subresource }) => `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`,
  );
  return `not recorded: ${texts.join(', ')}`;
}

export const controlPlaneChecks: readonly Row[] = [...loops, ...configuration];
