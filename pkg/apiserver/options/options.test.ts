import t from 'tap';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { etcdRoot } from '#apiserver/options/etcd.js';
import { type ApiServerValues, apiServerOptions } from '#apiserver/options/options.js';
import { apiServerProgramRules, apiServerRules } from '#apiserver/options/rules.js';
import { OptionsError, type OptionTable } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';
import { validateOptions } from '#daemon/options/validate.js';

type Table = ReturnType<typeof apiServerOptions>;

function parse(argv: readonly string[], dialect: Dialect = orchDialect): ParsedOptions<Table> {
  const parsed = parseOptions(apiServerOptions(dialect), argv, { program: 'p' });
  if (parsed.kind !== 'run') throw new Error(parsed.kind);
  return parsed;
}

/** Options that every server needs. */
const needed = [
  '--etcd-servers=https://127.0.0.1:2379',
  '--service-account-issuer=https://issuer.example',
  '--service-account-signing-key-file=/pki/sa.key',
];

function messages(argv: readonly string[], base: readonly string[] = needed): readonly string[] {
  try {
    validateOptions(parse([...base, ...argv]), apiServerProgramRules);
  } catch (error) {
    if (error instanceof OptionsError) return error.messages;
    throw error;
  }
  return [];
}

/** Names of release 1.24; `%` stands for the product's part. */
const names124 = `
admission-control admission-control-config-file advertise-address allow-metric-labels allow-privileged anonymous-auth
api-audiences apiserver-count audit-log-batch-buffer-size audit-log-batch-max-size audit-log-batch-max-wait
audit-log-batch-throttle-burst audit-log-batch-throttle-enable audit-log-batch-throttle-qps audit-log-compress
audit-log-format audit-log-maxage audit-log-maxbackup audit-log-maxsize audit-log-mode audit-log-path
audit-log-truncate-enabled audit-log-truncate-max-batch-size audit-log-truncate-max-event-size audit-log-version
audit-policy-file audit-webhook-batch-buffer-size audit-webhook-batch-max-size audit-webhook-batch-max-wait
audit-webhook-batch-throttle-burst audit-webhook-batch-throttle-enable audit-webhook-batch-throttle-qps
audit-webhook-config-file audit-webhook-initial-backoff audit-webhook-mode audit-webhook-truncate-enabled
audit-webhook-truncate-max-batch-size audit-webhook-truncate-max-event-size audit-webhook-version
authentication-token-webhook-cache-ttl authentication-token-webhook-config-file authentication-token-webhook-version
authorization-mode authorization-policy-file authorization-webhook-cache-authorized-ttl
authorization-webhook-cache-unauthorized-ttl authorization-webhook-config-file authorization-webhook-version
bind-address cert-dir client-ca-file cloud-config cloud-provider contention-profiling cors-allowed-origins
default-not-ready-toleration-seconds default-unreachable-toleration-seconds default-watch-cache-size
delete-collection-workers disable-admission-plugins disabled-metrics egress-selector-config-file
enable-admission-plugins enable-aggregator-routing enable-bootstrap-token-auth enable-garbage-collector
enable-priority-and-fairness encryption-provider-config endpoint-reconciler-type etcd-cafile etcd-certfile
etcd-compaction-interval etcd-count-metric-poll-period etcd-db-metric-poll-interval etcd-healthcheck-timeout
etcd-keyfile etcd-prefix etcd-servers etcd-servers-overrides event-ttl external-hostname feature-gates goaway-chance
http2-max-streams-per-connection identity-lease-duration-seconds identity-lease-renew-interval-seconds
kubelet-certificate-authority kubelet-client-certificate kubelet-client-key kubelet-port
kubelet-preferred-address-types kubelet-read-only-port kubelet-timeout kubernetes-service-node-port
lease-reuse-duration-seconds livez-grace-period log-flush-frequency logging-format logtostderr master-service-namespace
max-connection-bytes-per-sec max-mutating-requests-inflight max-requests-inflight min-request-timeout oidc-ca-file
oidc-client-id oidc-groups-claim oidc-groups-prefix oidc-issuer-url oidc-required-claim oidc-signing-algs
oidc-username-claim oidc-username-prefix permit-address-sharing permit-port-sharing profiling proxy-client-cert-file
proxy-client-key-file request-timeout requestheader-allowed-names requestheader-client-ca-file
requestheader-extra-headers-prefix requestheader-group-headers requestheader-username-headers runtime-config
secure-port service-account-extend-token-expiration service-account-issuer service-account-jwks-uri
service-account-key-file service-account-lookup service-account-max-token-expiration service-account-signing-key-file
service-cluster-ip-range service-node-port-range show-hidden-metrics-for-version shutdown-delay-duration
shutdown-send-retry-after storage-backend storage-media-type strict-transport-security-directives tls-cert-file
tls-cipher-suites tls-min-version tls-private-key-file tls-sni-cert-key token-auth-file tracing-config-file v vmodule
watch-cache watch-cache-sizes`;

t.test('every option of release 1.24 exists under its own name', async (t) => {
  const table: OptionTable = apiServerOptions(kubernetesDialect);
  const accepted = new Set(Object.entries(table).flatMap(([name, { aliases = [] }]) => [name, ...aliases]));
  t.same(
    names124.split(/\s+/).filter((name) => name !== '' && !accepted.has(name)),
    [],
  );
});

t.test('options have the defaults of release 1.24', async (t) => {
  t.match(parse([]).values, {
    'anonymous-auth': true,
    'audit-log-version': 'audit.orch.io/v1',
    'authorization-mode': ['AlwaysAllow'],
    'bind-address': '0.0.0.0',
    'cert-dir': '/var/run/orch',
    'etcd-compaction-interval': 300_000,
    'etcd-prefix': '/registry',
    'event-ttl': 3_600_000,
    'max-mutating-requests-inflight': 200,
    'max-requests-inflight': 400,
    'min-request-timeout': 1800,
    'nodeagent-timeout': 5000,
    'request-timeout': 60_000,
    'secure-port': 6443,
    'service-account-lookup': true,
    'service-node-port-range': '30000-32767',
  } satisfies Partial<ApiServerValues>);
  t.match(parse([], kubernetesDialect).values, {
    'audit-webhook-version': 'audit.k8s.io/v1',
    'cert-dir': '/var/run/kubernetes',
  });
});

t.test('a complete command line is parsed', async (t) => {
  const argv =
    `--dialect=kubernetes --advertise-address=192.0.2.4 --allow-privileged=true --authorization-mode=Node,RBAC
    --client-ca-file=/pki/ca.crt --enable-admission-plugins=NodeRestriction --enable-bootstrap-token-auth=true
    --etcd-cafile=/pki/etcd/ca.crt --etcd-certfile=/pki/client.crt --etcd-keyfile=/pki/client.key
    --etcd-servers=https://127.0.0.1:2379,https://192.0.2.5:2379 --kubelet-client-certificate=/pki/kubelet.crt
    --kubelet-client-key=/pki/kubelet.key --kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname
    --proxy-client-cert-file=/pki/front.crt --proxy-client-key-file=/pki/front.key
    --requestheader-allowed-names=front-proxy-client --requestheader-client-ca-file=/pki/front-ca.crt
    --requestheader-extra-headers-prefix=X-Remote-Extra- --requestheader-group-headers=X-Remote-Group
    --requestheader-username-headers=X-Remote-User --secure-port=6443 --kubernetes-service-node-port=30443
    --service-account-issuer=https://kubernetes.default.svc.cluster.local --service-account-key-file=/pki/sa.pub
    --service-account-signing-key-file=/pki/sa.key --service-cluster-ip-range=10.96.0.0/12,fd00::/108
    --tls-cert-file=/pki/apiserver.crt --tls-private-key-file=/pki/apiserver.key --event-ttl=30m
    --service-account-max-token-expiration=24h --runtime-config=api/all=true,batch/v1beta1=false --logtostderr
    --feature-gates=OpenAPIV3=true -v 2`.split(/\s+/);
  const parsed = parse(argv, kubernetesDialect);
  validateOptions(parsed, apiServerProgramRules);
  t.match(parsed.values, {
    'advertise-address': '192.0.2.4',
    'authorization-mode': ['Node', 'RBAC'],
    'etcd-servers': ['https://127.0.0.1:2379', 'https://192.0.2.5:2379'],
    'event-ttl': 1_800_000,
    'nodeagent-client-certificate': '/pki/kubelet.crt',
    'nodeagent-preferred-address-types': ['InternalIP', 'ExternalIP', 'Hostname'],
    'api-service-node-port': 30_443,
    'runtime-config': { 'api/all': 'true', 'batch/v1beta1': 'false' },
    'service-account-key-file': ['/pki/sa.pub'],
    'service-account-max-token-expiration': 86_400_000,
    v: 2,
  });
  t.ok(parsed.warnings.some((text) => text.startsWith('Flag --logtostderr has been deprecated')));
});

t.test('valid values are accepted', async (t) => {
  const rows: string[][] = [
    [],
    ['--secure-port=1', '--goaway-chance=0.02', '--max-requests-inflight=0'],
    ['--audit-log-mode=batch', '--audit-webhook-truncate-enabled'],
    ['--service-account-issuer=plain-name', '--service-account-jwks-uri=https://a/jwks'],
    ['--etcd-servers-overrides=/events#https://a:1;https://b:2', '--watch-cache-sizes=pods#10,deployments.apps#5'],
    ['--strict-transport-security-directives=max-age=31536000,includeSubDomains,preload'],
    ['--runtime-config=v1=true,api/beta=false,apps/v1/deployments=true', '--enable-priority-and-fairness=false'],
    ['--runtime-config=autoscaling/v2beta1, batch/v1 = true,'],
    ['--runtime-config='],
    ['--storage-media-type='],
    ['--storage-media-type=application/vnd.kubernetes.protobuf'],
    ['--service-account-api-audiences=a', '--audit-webhook-batch-initial-backoff=1s', '--enable-logs-handler'],
    ['--stderrthreshold=warning'],
    ['--runtime-config=/v1=T,/v1/pods=0,api/all=false', '--enable-priority-and-fairness=false'],
    ['--disable-admission-plugins=LimitRanger', '--enable-admission-plugins=ResourceQuota'],
    ['--authorization-mode=AlwaysDeny'],
  ];
  for (const argv of rows) t.same(messages(argv), [], argv.join(' '));
});

const auditLog = '--audit-log-path=/a';
const auditHook = '--audit-webhook-config-file=/a';

t.test('invalid values are refused', async (t) => {
  const rows: [string[], RegExp][] = [
    [
      ['--secure-port=65536'],
      /^--secure-port 65536 must be between 1 and 65535, inclusive. It cannot be turned off with 0$/,
    ],
    [['--bind-address=here'], / for "--bind-address" flag: failed to parse IP: "here"$/],
    [['--advertise-address=10.0.0'], /flag: failed to parse IP: "10.0.0"$/],
    [['--tls-cert-file=/a'], /^missing filename for serving cert$/],
    [['--max-requests-inflight=-1'], /^--max-requests-inflight can not be negative value$/],
    [['--max-mutating-requests-inflight=-1'], /^--max-mutating-requests-inflight can not be negative/],
    [['--max-requests-inflight=0', '--max-mutating-requests-inflight=0'], /must add up to something positive$/],
    [['--request-timeout=0'], /^--request-timeout must be greater than zero$/],
    [['--min-request-timeout=-1'], /^--min-request-timeout can not be negative value$/],
    [['--livez-grace-period=-1s'], /^--livez-grace-period can not/],
    [['--shutdown-delay-duration=-1s'], /^--shutdown-delay-duration can not/],
    [['--goaway-chance=0.03'], /^--goaway-chance can not be less than 0 or greater than 0.02$/],
    [['--cors-allowed-origins=('], /^--cors-allowed-origins: "\(" is not a regular expression: .+$/],
    [
      ['--strict-transport-security-directives=always'],
      /^--strict-transport-security-directives invalid, allowed values: max-age/,
    ],
    [['--apiserver-count=0'], /^--apiserver-count should be a positive number, but value '0' provided$/],
    [['--endpoint-reconciler-type=x'], /must be one of: lease, master-count, none$/],
    [['--etcd-servers=nowhere'], /^--etcd-servers: "nowhere" is not of the form scheme:\/\/host:port$/],
    [
      ['--etcd-servers-overrides=events'],
      /^--etcd-servers-overrides invalid, must be of format: group\/resource#servers, /,
    ],
    [['--etcd-servers-overrides=apps/v1/deployments#http://a:1'], /^--etcd-servers-overrides invalid, /],
    [['--etcd-servers-overrides=/events#http://a:1#b'], /^--etcd-servers-overrides invalid, /],
    [['--etcd-servers-overrides=/events#here'], /^--etcd-servers-overrides: "here" is not of the form scheme/],
    [['--etcd-certfile=/a'], /^KeyFile and CertFile must both be present\[key: , cert: \/a\]$/],
    [['--storage-backend=etcd2'], /^--storage-backend invalid, allowed values: etcd3/],
    [['--watch-cache-sizes=pods'], /^invalid value of watch cache size: pods$/],
    [['--service-cluster-ip-range=10.0.0.0'], /^service-cluster-ip-range\[0\] is not a valid cidr$/],
    [['--service-cluster-ip-range=10.0.0.0/24,10.1.0.0/24'], /must be of different IP family$/],
    [['--service-cluster-ip-range=10.0.0.0/24,fd00::/108,fd01::/108'], /must not contain more than two entries$/],
    [['--service-node-port-range=30000-70000'], /the port range cannot be greater than 65535: 30000-70000$/],
    [['--api-service-node-port=80'], /30000-32767 doesn't contain 80$/],
    [['--api-service-node-port=-1'], /must be between 0 and 65535/],
    [['--storage-media-type=text/plain'], /^unable to find serializer for "text\/plain"$/],
    [
      ['--runtime-config=api/all=false', '--enable-priority-and-fairness=false'],
      /^invalid key with only api\/all=false$/,
    ],
    [['--runtime-config=api/beta=false'], /^--runtime-config=api\/beta=false conflicts with/],
    [['--runtime-config=apps/v1/Deployments=true'], /^runtime-config invalid key apps\/v1\/Deployments$/],
    [['--runtime-config=apps/v1/a/b=true'], /^runtime-config invalid key apps\/v1\/a\/b$/],
    [['--runtime-config=apps=true'], /^runtime-config invalid key apps$/],
    [['--proxy-client-cert-file=/a'], /^--proxy-client-cert-file and --proxy-client-key-file must be given together$/],
    [['--nodeagent-client-key=/a'], /^--nodeagent-client-certificate and --nodeagent-client-key must be given/],
    [['--nodeagent-timeout=0s'], /^--nodeagent-timeout must be greater than zero$/],
    [['--service-account-issuer=http://['], /contained a ':' but was not a valid URL: parse .*missing '\]' in host$/],
    [['--service-account-issuer=https://issuer.example'], /is already specified$/],
    [['--service-account-jwks-uri=http://a/jwks'], /requires https scheme, parsed as: http:\/\/a\/jwks$/],
    [['--service-account-max-token-expiration=30m'], /must be between 1 hour and 2\^32 seconds$/],
    [['--requestheader-username-headers= '], /^empty value in "requestheader-username-headers"$/],
    [['--oidc-issuer-url=https://a'], /^oidc-issuer-url and oidc-client-id should be specified together$/],
    [['--oidc-issuer-url=http://a', '--oidc-client-id=b'], /has invalid scheme \("http"\), require 'https'$/],
    [
      ['--oidc-issuer-url=https://a', '--oidc-client-id=b', '--oidc-signing-algs=none'],
      /^oidc: unsupported signing alg: "none"$/,
    ],
    [['--authorization-mode='], /^at least one authorization-mode must be passed$/],
    [['--authorization-mode=RBAC,RBAC'], /^authorization-mode \["RBAC" "RBAC"\] has mode specified more than once$/],
    [['--authorization-mode=Magic'], /^authorization-mode "Magic" is not a valid mode$/],
    [['--authorization-policy-file=/a'], /^cannot specify --authorization-policy-file without mode ABAC$/],
    [['--authorization-webhook-config-file=/a'], /without mode Webhook$/],
    [['--authorization-mode=Webhook'], /^authorization-mode Webhook's authorization config file not passed$/],
    [['--authorization-mode=ABAC'], /^authorization-mode ABAC's authorization policy file not passed$/],
    [['--enable-admission-plugins=Nothing'], /^enable-admission-plugins plugin "Nothing" is unknown$/],
    [['--disable-admission-plugins=Nothing'], /^disable-admission-plugins plugin "Nothing" is unknown$/],
    [
      ['--enable-admission-plugins=Priority', '--disable-admission-plugins=Priority'],
      /^\[Priority\] in .* overlapped$/,
    ],
    [['--admission-control=Priority', '--enable-admission-plugins=Priority'], /flags are mutually exclusive$/],
    [['--admission-control=Priority,Nothing'], /^admission-control plugin "Nothing" is unknown$/],
    [['--admission-control='], /^admission-control is empty; to switch all plugins off, name only AlwaysAdmit$/],
    [[auditLog, '--audit-log-mode=sometimes'], /^invalid audit log mode sometimes, allowed modes are "batch,/],
    [[auditLog, '--audit-log-format=xml'], /^invalid audit log format xml, allowed formats are "legacy,json"$/],
    [[auditLog, '--audit-log-version=v1'], /allowed versions are \["audit.orch.io\/v1"\]$/],
    [[auditLog, '--audit-log-maxage=-1'], /^--audit-log-maxage -1 can't be a negative number$/],
    [[auditHook, '--audit-webhook-batch-buffer-size=0'], /^invalid audit batch webhook buffer size 0, must be/],
    [[auditHook, '--audit-webhook-batch-throttle-qps=0'], /^invalid audit batch webhook throttle QPS 0, must be/],
    [[auditLog, '--audit-log-truncate-max-event-size=0'], /^invalid audit truncate log max event size 0, must/],
    [['--feature-gates=Nothing=true'], /unrecognized feature gate/],
    [['--show-hidden-metrics-for-version=1.20'], /Only the previous minor version is allowed$/],
  ];
  for (const [argv, expected] of rows) {
    const errors = messages(argv);
    t.equal(errors.length, 1, `${argv.join(' ')}: ${errors.join('; ')}`);
    t.match(errors[0] ?? '', expected);
  }
});

t.test('all missing options are reported; the store may be provided', async (t) => {
  const missing = [
    'service-account-issuer is a required flag',
    'service-account-key-file is a required flag',
    '--service-account-signing-key-file and --service-account-issuer are required flags',
  ];
  t.same(messages([], []), ['--etcd-servers must be specified', ...missing]);
  t.throws(() => validateOptions(parse([]), apiServerRules), new OptionsError(missing));
});

t.test('the etcd prefix is normalized to a leading slash and no trailing one', (t) => {
  for (const [prefix, root] of [
    ['/registry', '/registry'],
    ['registry', '/registry'],
    ['/a/b/', '/a/b'],
    ['//a', '/a'],
    ['/', ''],
    ['', ''],
  ] as const)
    t.equal(etcdRoot(prefix), root, prefix);
  t.end();
});
