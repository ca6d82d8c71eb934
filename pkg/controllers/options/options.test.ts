import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { parseDuration } from '#apimachinery/duration.js';
import { controllerNames, selectControllers } from '#controllers/names.js';
import {
  controllerManagerOptions,
  controllerManagerRules,
  controllerManagerValues,
} from '#controllers/options/options.js';
import { OptionsError } from '#daemon/options/errors.js';
import type { OptionDeclaration, OptionTable } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';
import { validateOptions } from '#daemon/options/validate.js';

/** Name, type and default of the options of release 1.24. */
const specified = `
bind-address string 0.0.0.0
secure-port int 10257
cert-dir string none
tls-cert-file string none
tls-private-key-file string none
tls-sni-cert-key stringArray none
tls-cipher-suites strings none
tls-min-version string none
http2-max-streams-per-connection int 0
permit-address-sharing bool false
permit-port-sharing bool false
profiling bool true
contention-profiling bool false
authentication-orchconfig string none
authentication-skip-lookup bool false
authentication-token-webhook-cache-ttl duration 10s
authentication-tolerate-lookup-failure bool false
authorization-orchconfig string none
authorization-always-allow-paths strings /healthz,/readyz,/livez
authorization-webhook-cache-authorized-ttl duration 10s
authorization-webhook-cache-unauthorized-ttl duration 10s
client-ca-file string none
requestheader-client-ca-file string none
requestheader-allowed-names strings none
requestheader-username-headers strings x-remote-user
requestheader-group-headers strings x-remote-group
requestheader-extra-headers-prefix strings x-remote-extra-
use-service-account-credentials bool false
service-account-private-key-file string none
root-ca-file string none
cluster-signing-cert-file string none
cluster-signing-key-file string none
cluster-signing-duration duration 8760h0m0s
cluster-signing-orch-apiserver-client-cert-file string none
cluster-signing-orch-apiserver-client-key-file string none
cluster-signing-nodeagent-client-cert-file string none
cluster-signing-nodeagent-client-key-file string none
cluster-signing-nodeagent-serving-cert-file string none
cluster-signing-nodeagent-serving-key-file string none
cluster-signing-legacy-unknown-cert-file string none
cluster-signing-legacy-unknown-key-file string none
controllers strings *
controller-start-interval duration none
leader-elect bool true
leader-elect-lease-duration duration 15s
leader-elect-renew-deadline duration 10s
leader-elect-retry-period duration 2s
leader-elect-resource-lock string leases
leader-elect-resource-name string orch-controller-manager
leader-elect-resource-namespace string orch-system
enable-leader-migration bool false
leader-migration-config string none
orchconfig string none
master string none
orch-api-qps float 20
orch-api-burst int 30
orch-api-content-type string application/vnd.orch.protobuf
min-resync-period duration 12h0m0s
concurrent-deployment-syncs int 5
concurrent-endpoint-syncs int 5
concurrent-ephemeralvolume-syncs int 5
concurrent-gc-syncs int 20
concurrent-namespace-syncs int 10
concurrent-rc-syncs int 5
concurrent-replicaset-syncs int 5
concurrent-resource-quota-syncs int 5
concurrent-service-endpoint-syncs int 5
concurrent-service-syncs int 1
concurrent-serviceaccount-token-syncs int 5
concurrent-statefulset-syncs int 5
concurrent-ttl-after-finished-syncs int 5
mirroring-concurrent-service-endpoint-syncs int 5
allocate-node-cidrs bool false
cidr-allocator-type string RangeAllocator
cluster-cidr string none
service-cluster-ip-range string none
node-cidr-mask-size int none
node-cidr-mask-size-ipv4 int 24
node-cidr-mask-size-ipv6 int 64
configure-cloud-routes bool true
route-reconciliation-period duration 10s
cloud-provider string ''
cloud-config string ''
external-cloud-volume-plugin string none
cluster-name string orch
node-eviction-rate float 0.1
secondary-node-eviction-rate float 0.01
large-cluster-size-threshold int 50
unhealthy-zone-threshold float 0.55
node-monitor-grace-period duration 40s
node-monitor-period duration 5s
node-startup-grace-period duration 1m0s
pod-eviction-timeout duration 5m0s
enable-taint-manager bool true
terminated-pod-gc-threshold int 12500
enable-garbage-collector bool true
namespace-sync-period duration 5m0s
resource-quota-sync-period duration 5m0s
pvclaimbinder-sync-period duration 15s
attach-detach-reconcile-sync-period duration 1m0s
disable-attach-detach-reconcile-sync bool false
enable-dynamic-provisioning bool true
enable-hostpath-provisioner bool false
endpoint-updates-batch-period duration none
endpointslice-updates-batch-period duration none
mirroring-endpointslice-updates-batch-period duration none
max-endpoints-per-slice int 100
mirroring-max-endpoints-per-subset int 1000
flex-volume-plugin-dir string /usr/libexec/orch/nodeagent-plugins/volume/exec/
pv-recycler-minimum-timeout-nfs int 300
pv-recycler-increment-timeout-nfs int 30
pv-recycler-pod-template-filepath-nfs string none
pv-recycler-minimum-timeout-hostpath int 60
pv-recycler-timeout-increment-hostpath int 30
pv-recycler-pod-template-filepath-hostpath string none
volume-host-allow-local-loopback bool true
volume-host-cidr-denylist strings none
horizontal-pod-autoscaler-sync-period duration 15s
horizontal-pod-autoscaler-cpu-initialization-period duration 5m0s
horizontal-pod-autoscaler-downscale-stabilization duration 5m0s
horizontal-pod-autoscaler-initial-readiness-delay duration 30s
horizontal-pod-autoscaler-tolerance float 0.1
allow-metric-labels map none
disabled-metrics strings none
show-hidden-metrics-for-version string none
vendor-container-registry-config string none
log-flush-frequency duration 5s
logging-format string text
v int none
vmodule strings none
`;

function shown({ type, default: value }: OptionDeclaration): string {
  if (type === 'bool') return String(value ?? false);
  if (value === undefined || (type === 'int' && value === 0)) return 'none';
  if (Array.isArray(value)) return value.join(',');
  return value === '' ? "''" : String(value);
}

t.test('the table is that of the specification', (t) => {
  const table: OptionTable = controllerManagerOptions(orchDialect);
  const extra = new Set(Object.keys(table));
  for (const line of specified.trim().split('\n')) {
    const [name = '', type, wanted = ''] = line.split(' ');
    const declaration = table[name];
    extra.delete(name);
    if (declaration === undefined) {
      t.fail(`${name} is missing`);
      continue;
    }
    t.equal(declaration.type, type, `${name}: type`);
    const value = type === 'duration' && wanted !== 'none' ? String(parseDuration(wanted)) : wanted;
    t.equal(shown(declaration), type === 'int' && value === '0' ? 'none' : value, `${name}: default`);
  }
  t.same([...extra].sort(), ['dialect', 'feature-gates'], 'and these');
  const other: OptionTable = controllerManagerOptions(kubernetesDialect);
  t.equal(other['leader-elect-resource-namespace']?.default, 'kube-system');
  t.equal(other['cluster-name']?.default, 'kubernetes');
  t.end();
});

function failures(argv: readonly string[]): readonly string[] {
  const table = controllerManagerOptions(orchDialect);
  try {
    const parsed = parseOptions(table, argv, { program: 'x' });
    if (parsed.kind === 'run') validateOptions(parsed, controllerManagerRules);
    return [];
  } catch (error) {
    if (error instanceof OptionsError) return error.messages;
    throw error;
  }
}

t.test('what may not be combined', (t) => {
  const rows: [string[], string[]][] = [
    [[], []],
    [['--controllers=-job,deployment'], []],
    [
      ['--controllers=nonsense,-more'],
      ['"nonsense" is not in the list of known controllers', '"more" is not in the list of known controllers'],
    ],
    [['--cluster-cidr=10.0.0.0/8'], ['--cluster-cidr requires --allocate-node-cidrs=true']],
    [['--cluster-cidr=10.0.0.0/8', '--allocate-node-cidrs'], []],
    [['--max-endpoints-per-slice=1001'], ['--max-endpoints-per-slice must be between 1 and 1000, inclusive']],
    [['--concurrent-gc-syncs=0'], ['--concurrent-gc-syncs must be greater than zero']],
    [
      ['--cluster-signing-cert-file=a'],
      ['--cluster-signing-cert-file and --cluster-signing-key-file must be given together'],
    ],
    [
      [
        '--cluster-signing-cert-file=a',
        '--cluster-signing-key-file=b',
        '--cluster-signing-nodeagent-client-cert-file=c',
        '--cluster-signing-nodeagent-client-key-file=d',
      ],
      [
        '--cluster-signing-nodeagent-client-cert-file must not be combined with --cluster-signing-cert-file',
        '--cluster-signing-nodeagent-client-key-file must not be combined with --cluster-signing-cert-file',
      ],
    ],
    [['--unhealthy-zone-threshold=-1'], ['--unhealthy-zone-threshold must not be negative']],
  ];
  for (const [argv, want] of rows) t.same(failures(argv), want, argv.join(' '));
  t.throws(() => controllerManagerValues(orchDialect, { controllers: ['x'] }), OptionsError);
  t.end();
});

t.test('names of the dialect are understood', (t) => {
  const rows: [string, string][] = [
    ['--kubeconfig=/x', 'orchconfig'],
    ['--authentication-kubeconfig=/x', 'authentication-orchconfig'],
    ['--cluster-signing-kube-apiserver-client-cert-file=/x', 'cluster-signing-orch-apiserver-client-cert-file'],
    ['--cluster-signing_kubelet-serving-key-file=/x', 'cluster-signing-nodeagent-serving-key-file'],
    ['--root-ca-file=/x', 'root-ca-file'],
  ];
  for (const [given, want] of rows) {
    const parsed = parseOptions(controllerManagerOptions(kubernetesDialect), [given], { program: 'x' });
    t.match(parsed, { kind: 'run', values: { [want]: '/x' } }, given);
  }
  t.match(failures(['--kubeconfig=/x']), [/unknown flag: --kubeconfig/], 'but not those of the other');
  t.end();
});

t.test('selection of controllers', (t) => {
  const all = Object.keys(controllerNames);
  t.equal(all.length, 38);
  const rows: [string[], string[]][] = [
    [['*'], all.filter((name) => name !== 'bootstrapsigner' && name !== 'tokencleaner')],
    [['*', '-job', 'tokencleaner'], all.filter((name) => name !== 'bootstrapsigner' && name !== 'job')],
    [
      ['job', 'deployment'],
      ['deployment', 'job'],
    ],
    [['-job'], []],
    [[], []],
  ];
  for (const [given, want] of rows) t.same(selectControllers(given).selected, want, given.join(','));
  t.same([...selectControllers(['*', 'job']).named], ['job']);
  t.end();
});
