import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { type DialectName, dialectByName } from '#apimachinery/dialect.js';
import { type ApiServerValues, apiServerOptions } from '#apiserver/options/options.js';
import type { AgentFacts, ClusterFacts, FileFacts, ServerFacts } from '#cluster/check/cis/facts.js';
import type { ObjectFacts } from '#cluster/check/cis/object-facts.js';
import { judge } from '#cluster/check/command.js';
import {
  apiServerArguments,
  controllerManagerArguments,
  nodeAgentArguments,
  schedulerArguments,
} from '#cluster/supervise/arguments.js';
import { firstAuditPolicy } from '#cluster/supervise/audit-policy.js';
import { controllerManagerOptions } from '#controllers/options/options.js';
import type { OptionTable } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';
import { nodeAgentOptionTable } from '#nodeagent/options/options.js';
import { schedulerOptions } from '#scheduler/options/options.js';

const user = 0;
const file = (path: string, mode = 0o600, owner = user): FileFacts => ({ path, mode, owner, group: 0 });

function values<T extends OptionTable>(table: T, args: readonly string[]) {
  const parsed = parseOptions(table, args, { program: 'test' });
  if (parsed.kind !== 'run') throw new Error(parsed.kind);
  return parsed.values;
}

const objects: ObjectFacts = {
  clusterRoles: [],
  clusterRoleBindings: [],
  roles: [],
  roleBindings: [],
  accounts: [],
  namespaces: [],
  pods: [],
  networkPolicies: [],
};

interface Given {
  /** Values of the API server; lists on its command line only grow. */
  readonly values?: Partial<ApiServerValues>;
  readonly apiServer?: readonly string[];
  readonly controllerManager?: readonly string[];
  readonly scheduler?: readonly string[];
  readonly nodeAgent?: readonly string[];
  readonly server?: Partial<ServerFacts>;
  readonly agent?: Partial<AgentFacts>;
  readonly objects?: Partial<ObjectFacts>;
}

/** A cluster as `orch up --separate` starts it, but for what is given. */
function factsOf(name: DialectName, given: Given = {}): ClusterFacts {
  const dialect = dialectByName(name);
  const all = 'FILE';
  const loop = { dialect, config: 'c', port: 1, certDir: 'd', leaderElect: false, verbosity: 0, profiling: false };
  const pair = { certificateFile: 'a', privateKeyFile: 'b' };
  const keys = { authority: pair, serviceAccount: { ...pair, publicKeyFile: 'c' } } as never;
  const apiServer = apiServerArguments({
    dialect,
    etcd: { endpoints: ['https://127.0.0.1:2379'], caFile: all, certFile: all, keyFile: all },
    bindAddress: '0.0.0.0',
    port: 6443,
    advertiseAddress: undefined,
    serviceRange: '10.96.0.0/16',
    verbosity: 0,
    profiling: false,
    audit: { policy: all, log: all },
    more: given.apiServer,
    files: {
      ca: all,
      certificate: all,
      key: all,
      nodeAgentClientCertificate: all,
      nodeAgentClientKey: all,
      frontProxyCa: all,
      frontProxyCertificate: all,
      frontProxyKey: all,
      serviceAccountKey: all,
      serviceAccountPublicKey: all,
    },
  });
  const manager = controllerManagerArguments({
    ...loop,
    podRange: '10.0.0.0/16',
    serviceRange: '10.96.0.0/16',
    ownAccounts: true,
    files: keys,
    more: given.controllerManager,
  });
  const agent = nodeAgentArguments({
    dialect,
    nodeName: 'n',
    nodeIPs: ['127.0.0.1'],
    port: 0,
    config: 'c',
    rootDir: 'r',
    podLogsDir: 'l',
    runtime: undefined,
    pauseImage: undefined,
    files: { ca: all, certificate: all, key: all },
    verbosity: 0,
    more: given.nodeAgent,
  });
  const etcd = ['cert-file', 'key-file', 'peer-cert-file', 'peer-key-file'].map((option) => [option, 'f'] as const);
  return {
    server: {
      dialect,
      isOneProcess: false,
      apiServer: { ...values(apiServerOptions(dialect), apiServer), ...given.values },
      controllerManager: values(controllerManagerOptions(dialect), manager),
      scheduler: values(
        schedulerOptions(dialect),
        schedulerArguments({ ...loop, schedulerConfig: undefined, more: given.scheduler }),
      ),
      etcd: new Map([
        ...etcd,
        ['client-cert-auth', 'true'],
        ['peer-client-cert-auth', 'true'],
        ['trusted-ca-file', 'own'],
      ]),
      etcdDirectory: file('etcd', 0o700),
      clientConfig: [file('client')],
      schedulerConfig: [file('scheduler')],
      managerConfig: [file('manager')],
      certificates: [file('ca.crt')],
      keys: [file('ca.key')],
      policy: firstAuditPolicy(dialect),
      encryption: undefined,
      user,
      ...given.server,
    },
    node: {
      agents: [
        {
          name: 'n',
          values: values(nodeAgentOptionTable(dialect), agent),
          clientConfig: [file('agent')],
          configFile: [],
          authorities: [file('ca.crt')],
          networkConfig: [file('net')],
          ...given.agent,
        },
      ],
      unit: [],
      user,
    },
    objects: { ...objects, ...given.objects },
  };
}

function outcomeOf(id: string, given: Given, dialect: DialectName = 'orch') {
  const { outcome, why } = judge(factsOf(dialect, given), dialect).find((finding) => finding.id === id) ?? {};
  return { outcome, why };
}

for (const dialect of ['orch', 'kubernetes'] as const) {
  t.test(`a cluster as it is started first fails no check, ${dialect}`, async (t) => {
    const findings = judge(factsOf(dialect), dialect);
    t.same(
      findings.filter(({ outcome }) => outcome === 'fail'),
      [],
      'none fails',
    );
    t.equal(findings.length, 124, 'all recommendations of the benchmark are there');
    t.equal(new Set(findings.map(({ id }) => id)).size, findings.length, 'each once');
    t.ok(
      findings.every(({ outcome, why }) => outcome === 'pass' || why !== ''),
      'all others say why',
    );
  });
}

const failing: readonly (readonly [id: string, given: Given, why: RegExp])[] = [
  ['1.1.11', { server: { etcdDirectory: file('etcd', 0o755) } }, /etcd has the permissions 755/],
  ['1.1.13', { server: { clientConfig: [file('client', 0o644)] } }, /client has the permissions 644/],
  ['1.1.14', { server: { clientConfig: [file('client', 0o600, 7)] } }, /client belongs to the user 7 instead of 0/],
  ['1.1.15', { server: { schedulerConfig: [file('s', 0o640)] } }, /640/],
  ['1.1.17', { server: { managerConfig: [file('m', 0o604)] } }, /604/],
  ['1.1.19', { server: { keys: [file('ca.key', 0o600, 1)] } }, /ca.key belongs to the user 1/],
  ['1.2.2', { apiServer: ['token-auth-file=f'] }, /--token-auth-file is set/],
  ['1.2.6', { apiServer: ['authorization-mode=AlwaysAllow'] }, /AlwaysAllow/],
  ['1.2.7', { values: { 'authorization-mode': ['RBAC'] } }, /no Node/],
  ['1.2.8', { values: { 'authorization-mode': ['Node'] } }, /no RBAC/],
  ['1.2.10', { apiServer: ['enable-admission-plugins=AlwaysAdmit'] }, /AlwaysAdmit is on/],
  ['1.2.13', { apiServer: ['disable-admission-plugins=ServiceAccount'] }, /ServiceAccount is off/],
  ['1.2.14', { apiServer: ['disable-admission-plugins=NamespaceLifecycle'] }, /NamespaceLifecycle is off/],
  ['1.2.15', { apiServer: ['disable-admission-plugins=NodeRestriction'] }, /NodeRestriction is off/],
  ['1.2.17', { apiServer: ['profiling=true'] }, /--profiling is true/],
  ['1.2.18', { apiServer: ['audit-log-path='] }, /--audit-log-path/],
  ['1.2.19', { apiServer: ['audit-log-maxage=29'] }, /29/],
  ['1.2.20', { apiServer: ['audit-log-maxbackup=9'] }, /9/],
  ['1.2.21', { apiServer: ['audit-log-maxsize=99'] }, /99/],
  ['1.2.23', { apiServer: ['service-account-lookup=false'] }, /service-account-lookup/],
  ['1.2.25', { apiServer: ['etcd-keyfile='] }, /^not set: --etcd-keyfile$/],
  ['1.2.28', { apiServer: ['etcd-cafile='] }, /--etcd-cafile/],
  ['1.3.2', { controllerManager: ['profiling=true'] }, /--profiling is true/],
  ['1.3.3', { controllerManager: ['use-service-account-credentials=false'] }, /is false/],
  ['1.3.5', { controllerManager: ['root-ca-file='] }, /--root-ca-file/],
  ['1.3.7', { controllerManager: ['bind-address=0.0.0.0'] }, /0\.0\.0\.0/],
  ['1.4.1', { scheduler: ['profiling=true'] }, /--profiling is true/],
  ['1.4.2', { scheduler: ['bind-address=0.0.0.0'] }, /0\.0\.0\.0/],
  ['2.1', { server: { etcd: new Map() } }, /--cert-file, --key-file/],
  ['2.2', { server: { etcd: new Map() } }, /--client-cert-auth is false/],
  ['2.3', { server: { etcd: new Map([['auto-tls', 'true']]) } }, /--auto-tls is true/],
  ['4.1.5', { agent: { clientConfig: [file('agent', 0o644)] } }, /agent has the permissions 644/],
  ['4.2.1', { nodeAgent: ['anonymous-auth=true'] }, /--anonymous-auth is true/],
  ['4.2.2', { nodeAgent: ['authorization-mode=AlwaysAllow'] }, /AlwaysAllow/],
  ['4.2.3', { nodeAgent: ['client-ca-file='] }, /--client-ca-file is not set/],
  ['4.2.11', { nodeAgent: ['bootstrap-kubeconfig=f', 'rotate-certificates=false'] }, /--rotate-certificates is false/],
];

t.test('a recommendation that is not followed fails', async (t) => {
  for (const [id, given, why] of failing) {
    t.match(outcomeOf(id, given), { outcome: 'fail', why }, id);
  }
});

const pod = (spec: Pod['spec']): Pod => ({ metadata: { name: 'p', namespace: 'shop' }, spec }) as Pod;
const bound = (name: string, role: string) => ({
  metadata: { name },
  roleRef: { apiGroup: 'rbac', kind: 'ClusterRole', name: role },
  subjects: [{ kind: 'Group', name: 'system:masters' }],
});

const reviews: readonly (readonly [id: string, given: Given, why: RegExp])[] = [
  ['1.2.30', { server: { encryption: [{ resources: ['secrets'], providers: [{ type: 'identity' }] }] } }, /identity/],
  ['3.2.1', { server: { policy: undefined } }, /--audit-policy-file is not set/],
  [
    '3.2.2',
    { server: { policy: { rules: [{ level: 'Metadata', verbs: ['delete'] }] } } },
    /get secrets.*create pods\/exec/,
  ],
  ['5.1.1', { objects: { clusterRoleBindings: [bound('mine', 'cluster-admin')] } }, /^bound by: mine$/],
  ['5.1.2', { objects: { roles: [roleOf(['get'], ['secrets'])] } }, /shop\/r/],
  ['5.1.3', { objects: { roles: [roleOf(['*'], ['pods'])] } }, /shop\/r/],
  ['5.1.4', { objects: { roles: [roleOf(['create'], ['pods'])] } }, /shop\/r/],
  ['5.1.7', { objects: { clusterRoleBindings: [bound('mine', 'view')] } }, /mine/],
  ['5.1.8', { objects: { roles: [roleOf(['impersonate'], ['users'])] } }, /shop\/r/],
  ['5.2.2', { objects: { namespaces: [{ metadata: { name: 'shop' }, spec: {} }] } }, /shop/],
  ['5.3.2', { objects: { namespaces: [{ metadata: { name: 'shop' }, spec: {} }] } }, /shop/],
  [
    '5.4.1',
    {
      objects: {
        pods: [pod({ containers: [{ name: 'c', envFrom: [{ secretRef: { name: 's' } }] }] } as never)],
      },
    },
    /shop\/p/,
  ],
  ['5.7.2', { objects: { pods: [pod({ containers: [{ name: 'c' }] } as never)] } }, /shop\/p/],
];

function roleOf(verbs: string[], resources: string[]) {
  return { metadata: { name: 'r', namespace: 'shop' }, rules: [{ apiGroups: [''], verbs, resources }] };
}

t.test('what only a person can decide is for review, with the evidence', async (t) => {
  for (const [id, given, why] of reviews) {
    t.match(outcomeOf(id, given), { outcome: 'review', why }, id);
  }
});

t.test('a level of pod security answers for a namespace', async (t) => {
  for (const dialect of ['orch', 'kubernetes'] as const) {
    const label = `pod-security.${dialectByName(dialect).labelDomain}/enforce`;
    const at = (level: string) => ({
      objects: { namespaces: [{ metadata: { name: 'shop', labels: { [label]: level } }, spec: {} }] },
    });
    t.match(outcomeOf('5.2.2', at('baseline'), dialect), { outcome: 'pass' }, 'baseline refuses privileged containers');
    t.match(outcomeOf('5.2.7', at('baseline'), dialect), { outcome: 'review' }, 'baseline allows root');
    t.match(outcomeOf('5.2.7', at('restricted'), dialect), { outcome: 'pass' }, 'restricted refuses root');
  }
});

t.test('checks of what is not there do not apply', async (t) => {
  t.match(outcomeOf('2.1', { server: { etcd: undefined } }), { outcome: 'not applicable' }, 'a foreign etcd');
  t.match(outcomeOf('1.3.7', { server: { isOneProcess: true } }), { outcome: 'not applicable' }, 'one process');
  t.match(outcomeOf('1.2.25', { values: { 'etcd-servers': [] } }), { outcome: 'not applicable' }, 'objects in memory');
  const joined = judge({ ...factsOf('orch'), server: undefined, objects: undefined }, 'orch');
  t.ok(
    joined.every(({ id }) => id.startsWith('4.') || id.startsWith('1.1.')),
    'a joined node is judged by its own part',
  );
});
