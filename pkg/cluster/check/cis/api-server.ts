/** Section 1.2 of the CIS benchmark for release 1.24: options of the API server. */
import type { Check } from '#cluster/check/cis/check.js';
import { weakSuites } from '#cluster/check/cis/cipher-suites.js';
import type { ServerFacts } from '#cluster/check/cis/facts.js';
import { apiServerArg, isSet, unsetOptions } from '#cluster/check/cis/option-values.js';

type Row = Check<ServerFacts>;

const missing = (names: readonly string[], { apiServer }: ServerFacts) =>
  unsetOptions(names, (name) => (apiServer as Readonly<Record<string, unknown>>)[name] as string | undefined);

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

export const apiServerChecks: readonly Row[] = [
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
    problem: (facts) => missing(['nodeagent-client-certificate', 'nodeagent-client-key'], facts),
  },
  {
    id: '1.2.5',
    title: 'The API server verifies the certificates of node agents',
    problem: (facts) => missing(['nodeagent-certificate-authority'], facts),
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
    problem: (facts) => missing(['audit-log-path'], facts),
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
    problem: (facts) => missing(['etcd-certfile', 'etcd-keyfile'], facts),
    remedy: 'orch up --etcd-certfile FILE --etcd-keyfile FILE',
  },
  {
    id: '1.2.26',
    title: 'The API server has a serving certificate',
    problem: (facts) => missing(['tls-cert-file', 'tls-private-key-file'], facts),
  },
  {
    id: '1.2.27',
    title: 'Clients can have certificates',
    problem: (facts) => missing(['client-ca-file'], facts),
  },
  {
    id: '1.2.28',
    title: 'The API server verifies the certificate of etcd',
    exempt: inMemory,
    problem: (facts) => missing(['etcd-cafile'], facts),
    remedy: 'orch up --etcd-cafile FILE',
  },
  {
    id: '1.2.29',
    title: 'Objects are encrypted at rest',
    isManual: true,
    exempt: inMemory,
    problem: (facts) => missing(['encryption-provider-config'], facts),
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
