/** Sections 1 and 3 of the CIS benchmark for release 1.24: files and options of the control plane. */
import { type AuditedInfo, PolicyRules } from '#apiserver/audit/policy.js';
import type { Check } from '#cluster/check/cis/check.js';
import { weakSuites } from '#cluster/check/cis/cipher-suites.js';
import type { FileFacts, ServerFacts } from '#cluster/check/cis/facts.js';
import { foreignFile, openFile } from '#cluster/check/cis/files.js';

type Row = Check<ServerFacts>;

const noStaticPods = 'daemons of the control plane are programs here, not static pods';
const oneProcess = ({ isOneProcess }: ServerFacts) =>
  isOneProcess ? 'it runs in the process of the API server and has no file, port or option for this' : undefined;
const apiServerArg = (option: string) => `orch up --apiserver-arg=${option}`;

/** Two rows about files: their permissions and their owner. */
function fileRows(
  ids: readonly [string, string],
  what: string,
  files: (facts: ServerFacts) => readonly FileFacts[],
  exempt?: Row['exempt'],
): Row[] {
  const more = exempt === undefined ? {} : { exempt };
  return [
    {
      id: ids[0],
      title: `Only the owner can read and write ${what}`,
      problem: (facts) => openFile(files(facts)),
      remedy: 'chmod 600 FILE',
      ...more,
    },
    {
      id: ids[1],
      title: `The user of the cluster owns ${what}`,
      problem: (facts) => foreignFile(files(facts), facts.user),
      remedy: 'chown root:root FILE',
      ...more,
    },
  ];
}

const files: readonly Row[] = [
  ...['API server', 'controller manager', 'scheduler', 'etcd'].flatMap((daemon, index): Row[] => [
    {
      id: `1.1.${2 * index + 1}`,
      title: `Only the owner can read the pod manifest of: ${daemon}`,
      exempt: noStaticPods,
    },
    {
      id: `1.1.${2 * index + 2}`,
      title: `The user of the cluster owns the pod manifest of: ${daemon}`,
      exempt: noStaticPods,
    },
  ]),
  {
    id: '1.1.11',
    title: 'Only the owner can enter the data directory of etcd',
    exempt: ({ etcdDirectory }) =>
      etcdDirectory === undefined ? 'this machine runs no etcd of the cluster' : undefined,
    problem: ({ etcdDirectory }) => etcdDirectory && openFile([etcdDirectory], 0o700),
    remedy: 'chmod 700 DIRECTORY',
  },
  {
    id: '1.1.12',
    title: 'A user of its own owns the data directory of etcd',
    exempt:
      'etcd runs as the user of the cluster, who starts and supervises it; only this user can enter the directory',
  },
  ...fileRows(['1.1.13', '1.1.14'], 'the client configuration of the administrator', (facts) => facts.clientConfig),
  ...fileRows(['1.1.15', '1.1.16'], 'the client configuration of the scheduler', (facts) => facts.schedulerConfig),
  ...fileRows(['1.1.17', '1.1.18'], 'the client configuration of the controllers', (facts) => facts.managerConfig),
  {
    id: '1.1.19',
    title: 'The user of the cluster owns its certificates and keys',
    problem: ({ certificates, keys, user }) => foreignFile([...certificates, ...keys], user),
    remedy: 'chown root:root FILE',
  },
  {
    id: '1.1.20',
    title: 'Only the owner can read certificates',
    isManual: true,
    problem: ({ certificates }) => openFile(certificates),
    remedy: 'chmod 600 FILE',
  },
  {
    id: '1.1.21',
    title: 'Only the owner can read keys',
    isManual: true,
    problem: ({ keys }) => openFile(keys),
    remedy: 'chmod 600 FILE',
  },
];

const isSet = (value: string | undefined) => value !== undefined && value !== '';

const missing = (names: readonly string[], values: Readonly<Record<string, unknown>>) => {
  const absent = names.filter((name) => !isSet(values[name] as string | undefined));
  return absent.length === 0 ? undefined : `not set: ${absent.map((name) => `--${name}`).join(', ')}`;
};

/** Plugins that are on unless they are disabled. */
const defaultPlugins: ReadonlySet<string> = new Set(['ServiceAccount', 'NamespaceLifecycle']);

function hasPlugin({ apiServer }: ServerFacts, plugin: string): boolean {
  if (apiServer['disable-admission-plugins'].includes(plugin)) return false;
  return defaultPlugins.has(plugin) || apiServer['enable-admission-plugins'].includes(plugin);
}

const pluginRow = (id: string, plugin: string, isManual?: true): Row => ({
  id,
  title: `The admission plugin ${plugin} is on`,
  ...(isManual === true ? { isManual } : {}),
  problem: (facts) => (hasPlugin(facts, plugin) ? undefined : `${plugin} is off`),
  remedy: apiServerArg(`enable-admission-plugins=NodeRestriction,${plugin}`),
});

const least = (
  id: string,
  option: 'audit-log-maxage' | 'audit-log-maxbackup' | 'audit-log-maxsize',
  value: number,
): Row => ({
  id,
  title: `--${option} is at least ${value}`,
  problem: ({ apiServer }) => (apiServer[option] >= value ? undefined : `--${option} is ${apiServer[option]}`),
  remedy: apiServerArg(`${option}=${value}`),
});

const apiServer: readonly Row[] = [
  {
    id: '1.2.1',
    title: 'Requests without credentials are refused',
    isManual: true,
    problem: (facts) =>
      facts.apiServer['anonymous-auth']
        ? 'anonymous requests reach health, version and the address that joining nodes read, and nothing else unless RBAC allows it'
        : undefined,
    remedy: apiServerArg('anonymous-auth=false'),
  },
  {
    id: '1.2.2',
    title: 'No tokens come from a file',
    problem: (facts) => (isSet(facts.apiServer['token-auth-file']) ? '--token-auth-file is set' : undefined),
    remedy: 'leave --token-auth-file out; issue certificates or service account tokens',
  },
  {
    id: '1.2.3',
    title: 'The admission plugin DenyServiceExternalIPs is off',
    problem: (facts) => (hasPlugin(facts, 'DenyServiceExternalIPs') ? 'DenyServiceExternalIPs is on' : undefined),
    remedy: 'leave it out of --enable-admission-plugins',
  },
  {
    id: '1.2.4',
    title: 'The API server has a client certificate for node agents',
    problem: (facts) => missing(['nodeagent-client-certificate', 'nodeagent-client-key'], facts.apiServer),
  },
  {
    id: '1.2.5',
    title: 'The API server verifies the certificates of node agents',
    problem: (facts) => missing(['nodeagent-certificate-authority'], facts.apiServer),
  },
  {
    id: '1.2.6',
    title: 'Requests are authorized',
    problem: (facts) =>
      facts.apiServer['authorization-mode'].includes('AlwaysAllow')
        ? '--authorization-mode includes AlwaysAllow'
        : undefined,
    remedy: apiServerArg('authorization-mode=Node,RBAC'),
  },
  ...(['Node', 'RBAC'] as const).map(
    (mode, index): Row => ({
      id: `1.2.${7 + index}`,
      title: `The authorizer ${mode} is on`,
      problem: (facts) =>
        facts.apiServer['authorization-mode'].includes(mode) ? undefined : `--authorization-mode has no ${mode}`,
      remedy: apiServerArg('authorization-mode=Node,RBAC'),
    }),
  ),
  pluginRow('1.2.9', 'EventRateLimit', true),
  {
    id: '1.2.10',
    title: 'The admission plugin AlwaysAdmit is off',
    problem: (facts) => (hasPlugin(facts, 'AlwaysAdmit') ? 'AlwaysAdmit is on' : undefined),
    remedy: 'leave it out of --enable-admission-plugins',
  },
  pluginRow('1.2.11', 'AlwaysPullImages', true),
  {
    id: '1.2.12',
    title: 'Fields of the security context are limited by SecurityContextDeny, or by pod security',
    isManual: true,
    problem: (facts) =>
      ['SecurityContextDeny', 'PodSecurityPolicy'].some((plugin) => hasPlugin(facts, plugin)) ||
      !facts.apiServer['disable-admission-plugins'].includes('PodSecurity')
        ? undefined
        : 'neither SecurityContextDeny nor PodSecurity is on',
    remedy: 'leave PodSecurity out of --disable-admission-plugins',
  },
  pluginRow('1.2.13', 'ServiceAccount'),
  pluginRow('1.2.14', 'NamespaceLifecycle'),
  pluginRow('1.2.15', 'NodeRestriction'),
  {
    id: '1.2.16',
    title: 'The API is served over TLS',
    problem: (facts) => (facts.apiServer['secure-port'] === 0 ? '--secure-port is 0' : undefined),
  },
  {
    id: '1.2.17',
    title: 'The API server serves no profiles',
    problem: (facts) => (facts.apiServer.profiling ? '--profiling is true' : undefined),
    remedy: apiServerArg('profiling=false'),
  },
  {
    id: '1.2.18',
    title: 'There is an audit log',
    problem: (facts) => missing(['audit-log-path'], facts.apiServer),
    remedy: apiServerArg('audit-log-path=FILE'),
  },
  least('1.2.19', 'audit-log-maxage', 30),
  least('1.2.20', 'audit-log-maxbackup', 10),
  least('1.2.21', 'audit-log-maxsize', 100),
  {
    id: '1.2.22',
    title: 'Requests have a time limit',
    isManual: true,
    problem: (facts) =>
      facts.apiServer['request-timeout'] > 300_000 ? '--request-timeout is longer than five minutes' : undefined,
    remedy: apiServerArg('request-timeout=1m0s'),
  },
  {
    id: '1.2.23',
    title: 'Tokens of deleted service accounts are refused',
    problem: (facts) => (facts.apiServer['service-account-lookup'] ? undefined : '--service-account-lookup is false'),
    remedy: apiServerArg('service-account-lookup=true'),
  },
  {
    id: '1.2.24',
    title: 'Service account tokens have a key of their own',
    problem: (facts) =>
      facts.apiServer['service-account-key-file'].length > 0 ? undefined : '--service-account-key-file is not set',
  },
  {
    id: '1.2.25',
    title: 'The API server has a client certificate for etcd',
    exempt: inMemory,
    problem: (facts) => missing(['etcd-certfile', 'etcd-keyfile'], facts.apiServer),
    remedy: 'orch up --etcd-certfile FILE --etcd-keyfile FILE',
  },
  {
    id: '1.2.26',
    title: 'The API server has a serving certificate',
    problem: (facts) => missing(['tls-cert-file', 'tls-private-key-file'], facts.apiServer),
  },
  {
    id: '1.2.27',
    title: 'Clients can have certificates',
    problem: (facts) => missing(['client-ca-file'], facts.apiServer),
  },
  {
    id: '1.2.28',
    title: 'The API server verifies the certificate of etcd',
    exempt: inMemory,
    problem: (facts) => missing(['etcd-cafile'], facts.apiServer),
    remedy: 'orch up --etcd-cafile FILE',
  },
  {
    id: '1.2.29',
    title: 'Objects are encrypted at rest',
    isManual: true,
    exempt: inMemory,
    problem: (facts) => missing(['encryption-provider-config'], facts.apiServer),
    remedy: apiServerArg('encryption-provider-config=FILE, see docs/encryption-at-rest.md'),
  },
  {
    id: '1.2.30',
    title: 'Secrets are encrypted by aescbc, secretbox or kms',
    isManual: true,
    exempt: inMemory,
    problem: secretsInClear,
    remedy: 'let one of these be the first provider of secrets, see docs/encryption-at-rest.md',
  },
  {
    id: '1.2.31',
    title: 'The API server uses strong cipher suites only',
    isManual: true,
    problem: (facts) => weakSuites(facts.apiServer['tls-cipher-suites']),
    remedy: apiServerArg('tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,…'),
  },
];

function inMemory({ apiServer: { 'etcd-servers': servers } }: ServerFacts): string | undefined {
  return servers.length === 0 ? 'objects are kept in memory' : undefined;
}

const strongProviders: ReadonlySet<string> = new Set(['aescbc', 'secretbox', 'kms']);

function secretsInClear({ encryption }: ServerFacts): string | undefined {
  const rule = encryption?.find(({ resources }) => resources.includes('secrets'));
  const first = rule?.providers[0]?.type;
  if (first === undefined) return 'secrets are stored as they are';
  return strongProviders.has(first) ? undefined : `the first provider of secrets is ${first}`;
}

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
    problem: (facts) => missing(['service-account-private-key-file'], facts.controllerManager),
  },
  {
    id: '1.3.5',
    title: 'Pods get the authority that verifies the API server',
    exempt: oneProcess,
    problem: (facts) => missing(['root-ca-file'], facts.controllerManager),
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

export const controlPlaneChecks: readonly Row[] = [...files, ...apiServer, ...loops, ...configuration];
