import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { OptionsError, type OptionTable } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';
import { configFields } from '#nodeagent/options/config/fields.js';
import { applyConfig, applyConfigFile } from '#nodeagent/options/config/file.js';
import { fileOnlyFields } from '#nodeagent/options/config/file-only.js';
import { type NodeAgentOptionTable, nodeAgentOptionTable } from '#nodeagent/options/options.js';

const head = { apiVersion: 'nodeagent.config.orch.io/v1beta1', kind: 'NodeAgentConfiguration' };
const otherHead = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };

function parse(argv: readonly string[], dialect: Dialect): ParsedOptions<NodeAgentOptionTable> {
  const parsed = parseOptions(nodeAgentOptionTable(dialect), argv, { program: 'p' });
  if (parsed.kind !== 'run') throw new Error(parsed.kind);
  return parsed;
}

function apply(
  config: object | string,
  argv: readonly string[] = [],
  dialect: Dialect = orchDialect,
): ParsedOptions<NodeAgentOptionTable> {
  const text = typeof config === 'string' ? config : JSON.stringify({ ...head, ...config });
  return applyConfig(nodeAgentOptionTable(dialect), parse(argv, dialect), { text, source: 'file', dialect });
}

function errors(config: object | string, argv: readonly string[] = []): readonly string[] {
  try {
    apply(config, argv);
  } catch (error) {
    if (error instanceof OptionsError) return error.messages;
    throw error;
  }
  return [];
}

t.test('every field has an option or is listed as having none', async (t) => {
  const table: OptionTable = nodeAgentOptionTable(orchDialect);
  const paths = Object.values(table).flatMap(({ configField }) => (configField === undefined ? [] : [configField]));
  const covered = new Set([...paths.map((path) => path.split('.')[0]), ...fileOnlyFields, 'apiVersion', 'kind']);
  t.same(
    Object.keys(configFields).filter((name) => !covered.has(name)),
    [],
  );
  t.same(
    [...covered].filter((name) => name === undefined || !Object.hasOwn(configFields, name)),
    [],
  );
  t.equal(new Set(paths).size, paths.length, 'no field has two options');
});

t.test('defaults of a file are stricter than those of options', async (t) => {
  t.match(parse([], orchDialect).values, {
    'anonymous-auth': true,
    'authentication-token-webhook': false,
    'authorization-mode': 'AlwaysAllow',
    'read-only-port': 10_255,
  });
  t.match(apply({}).values, {
    'anonymous-auth': false,
    'authentication-token-webhook': true,
    'authorization-mode': 'Webhook',
    'read-only-port': 0,
  });
  t.equal(apply({}, ['--anonymous-auth']).values['anonymous-auth'], true);
  t.equal(apply({ authentication: { anonymous: { enabled: true } } }).values['authentication-token-webhook'], true);
});

t.test('fields are converted to values of options', async (t) => {
  const rows: [object, Record<string, unknown>][] = [
    [
      { maxPods: 50, syncFrequency: '1m30s' },
      { 'max-pods': 50, 'sync-frequency': 90_000 },
    ],
    [
      { clusterDNS: ['10.0.0.10'], clusterDomain: 'c' },
      { 'cluster-dns': ['10.0.0.10'], 'cluster-domain': 'c' },
    ],
    [{ authentication: { x509: { clientCAFile: '/ca' } } }, { 'client-ca-file': '/ca' }],
    [
      { authorization: { webhook: { cacheAuthorizedTTL: '1m' } } },
      { 'authorization-webhook-cache-authorized-ttl': 60_000 },
    ],
    [
      { evictionHard: { 'memory.available': '1%', 'pid.available': '5' } },
      { 'eviction-hard': 'memory.available<1%,pid.available<5' },
    ],
    [{ evictionSoft: { 'memory.available': '1Gi' } }, { 'eviction-soft': 'memory.available<1Gi' }],
    [
      { evictionSoftGracePeriod: { 'memory.available': '1m' } },
      { 'eviction-soft-grace-period': { 'memory.available': '1m' } },
    ],
    [
      {
        registerWithTaints: [
          { key: 'a', value: 'b', effect: 'NoSchedule' },
          { key: 'c', effect: 'NoExecute' },
        ],
      },
      { 'register-with-taints': ['a=b:NoSchedule', 'c:NoExecute'] },
    ],
    [{ featureGates: { CPUManager: false } }, { 'feature-gates': { CPUManager: false } }],
    [{ staticPodURLHeader: { A: ['1', '2'] } }, { 'manifest-url-header': ['A:1', 'A:2'] }],
    [
      { reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi', 'hugepages-2Mi': 4 } }] },
      { 'reserved-memory': ['0:memory=1Gi,hugepages-2Mi=4'] },
    ],
    [
      { orchReserved: { cpu: '1' }, systemReserved: { memory: '1Gi' } },
      { 'orch-reserved': { cpu: '1' }, 'system-reserved': { memory: '1Gi' } },
    ],
    [
      { cpuManagerPolicy: 'None', memoryManagerPolicy: 'static' },
      { 'cpu-manager-policy': 'none', 'memory-manager-policy': 'Static' },
    ],
    [
      { nodeStatusUpdateFrequency: '20s' },
      { 'node-status-update-frequency': 20_000, 'node-status-report-frequency': 20_000 },
    ],
    [{ nodeStatusUpdateFrequency: '20s', nodeStatusReportFrequency: '1m' }, { 'node-status-report-frequency': 60_000 }],
    [
      {
        logging: {
          format: 'json',
          flushFrequency: 1_000_000_000,
          verbosity: 3,
          vmodule: [{ filePattern: 'a*', verbosity: 4 }],
          options: { json: { splitStream: true, infoBufferSize: '1Ki' } },
        },
      },
      {
        'logging-format': 'json',
        'log-flush-frequency': 1000,
        v: 3,
        vmodule: ['a*=4'],
        'log-json-split-stream': true,
        'log-json-info-buffer-size': '1Ki',
      },
    ],
    // Zero means unset for some fields and is a value for others.
    [
      { port: 0, maxPods: 0, syncFrequency: '0s', address: '' },
      { port: 10_250, 'max-pods': 110, 'sync-frequency': 60_000, address: '0.0.0.0' },
    ],
    [
      { healthzPort: 0, registryPullQPS: 0, resolvConf: '' },
      { 'healthz-port': 0, 'registry-qps': 0, 'resolv-conf': '' },
    ],
    [
      { maxPods: null, authentication: null },
      { 'max-pods': 110, 'anonymous-auth': false },
    ],
  ];
  for (const [config, expected] of rows) t.match(apply(config).values, expected, JSON.stringify(config));
});

t.test('the command line wins, gate by gate', async (t) => {
  const config = { maxPods: 50, featureGates: { CPUManager: false, SeccompDefault: false } };
  const { values } = apply(config, ['--max-pods=60', '--feature-gates=SeccompDefault=true']);
  t.match(values, { 'max-pods': 60, 'feature-gates': { CPUManager: false, SeccompDefault: true } });
  t.ok(Object.isFrozen(values));
});

t.test('files of the other implementation are accepted in both dialects', async (t) => {
  const text = `
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
kubeAPIQPS: 50
kubeReserved: { cpu: 100m }
kubeReservedCgroup: /kube
kubeletCgroups: /kubelet
contentType: application/vnd.kubernetes.protobuf
enforceNodeAllocatable: [pods, kube-reserved]
featureGates: { RotateKubeletServerCertificate: false }
`;
  const expected = {
    'orch-api-qps': 50,
    'orch-reserved': { cpu: '100m' },
    'orch-reserved-cgroup': '/kube',
    'nodeagent-cgroups': '/kubelet',
    'feature-gates': { RotateNodeAgentServerCertificate: false },
  };
  t.match(apply(text).values, {
    ...expected,
    'orch-api-content-type': 'application/vnd.orch.protobuf',
    'enforce-node-allocatable': ['pods', 'orch-reserved'],
  });
  t.match(apply(text, ['--dialect=kubernetes'], kubernetesDialect).values, {
    ...expected,
    'orch-api-content-type': 'application/vnd.kubernetes.protobuf',
    'enforce-node-allocatable': ['pods', 'kube-reserved'],
  });
  t.same(errors({ ...otherHead, orchAPIQPS: 5 }), ['file: unknown field "orchAPIQPS"']);
  t.same(errors({ kubeAPIQPS: 5 }), ['file: unknown field "kubeAPIQPS"']);
});

t.test('invalid files are rejected with all problems', async (t) => {
  const rows: [object | string, RegExp][] = [
    ['a: [', /^file: /],
    ['- a', /^file: must be an object$/],
    ['a: 1\na: 2', /^file: yaml: unmarshal errors:\n {2}line 2: key "a" already set in map$/],
    ['a: &x [1]\nb: *x', /^file: /],
    [
      { kind: 'Pod' },
      /^file: apiVersion and kind must be nodeagent.config.orch.io\/v1beta1 NodeAgentConfiguration or /,
    ],
    [{ apiVersion: 'nodeagent.config.orch.io/v1' }, /not nodeagent.config.orch.io\/v1 NodeAgentConfiguration$/],
    [{ maxPod: 5 }, /^file: unknown field "maxPod"$/],
    [{ constructor: 5 }, /^file: unknown field "constructor"$/],
    [{ authentication: { anonymous: { on: true } } }, /^file: unknown field "authentication.anonymous.on"$/],
    [{ maxPods: '5' }, /^file: maxPods: Invalid value: "5": must be an integer \(int32\)$/],
    [{ maxPods: 2 ** 31 }, /^file: maxPods: Invalid value: 2147483648/],
    [{ failSwapOn: 'yes' }, /^file: failSwapOn: Invalid value: "yes": must be true or false$/],
    [{ syncFrequency: 10 }, /^file: syncFrequency: Invalid value: 10: must be a duration/],
    [{ clusterDNS: '10.0.0.10' }, /^file: clusterDNS: .* must be a list$/],
    [{ clusterDNS: [10] }, /^file: clusterDNS\[0\]: Invalid value: 10: must be a string$/],
    [{ systemReserved: { cpu: 1 } }, /^file: systemReserved\[cpu\]: .* must be a string$/],
    [{ evictionHard: ['a'] }, /^file: evictionHard: .* must be an object$/],
    [{ registerWithTaints: [{ key: 'a' }] }, /^file: registerWithTaints\[0\].effect: Required value$/],
    [{ reservedMemory: [{ numaNode: 0, limits: { memory: 'x' } }] }, /limits\[memory\]: .* must be a quantity$/],
    [{ authorization: { mode: 'RBAC' } }, /^file: authorization.mode: Invalid value: "RBAC": must be one of/],
    [
      { shutdownGracePeriodCriticalPods: '10s' },
      /^file: invalid configuration: shutdownGracePeriodCriticalPods 10s must be <= shutdownGracePeriod 0s$/,
    ],
    [{ shutdownGracePeriod: '10ms' }, /shutdownGracePeriod 10ms must be either zero or otherwise >= 1 sec$/],
    [
      { shutdownGracePeriod: '10s', featureGates: { GracefulNodeShutdown: false } },
      /specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown$/,
    ],
    [
      {
        shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 5 }],
        featureGates: { GracefulNodeShutdownBasedOnPodPriority: false },
      },
      /Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority$/,
    ],
    [
      {
        shutdownGracePeriod: '10s',
        shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 5 }],
      },
      /Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time$/,
    ],
    [{ memorySwap: { swapBehavior: 'All' }, featureGates: { NodeSwap: true } }, /"All": must be one of: .*LimitedSwap/],
    [{ configMapAndSecretChangeDetectionStrategy: 'Poll' }, /"Poll": must be one of/],
    [{ showHiddenMetricsForVersion: '1.20' }, /must be one of/],
  ];
  for (const [config, expected] of rows) {
    const problems = errors(config);
    t.equal(problems.length, 1, `${JSON.stringify(config)}: ${problems.join('; ')}`);
    t.match(problems[0] ?? '', expected);
  }
  t.equal(errors({ a: 1, maxPods: 'x', port: true }).length, 3, 'all at once');
});

t.test('fields without effect are warned about', async (t) => {
  const warnings = apply({
    showHiddenMetricsForVersion: '1.23',
    hairpinMode: 'none',
    iptablesDropBit: 5,
    maxPods: 5,
  }).warnings;
  t.same(
    warnings.map((text) => text.split(':')[1]),
    [
      ' field hairpinMode has no effect',
      ' field iptablesDropBit has no effect',
      ' field showHiddenMetricsForVersion has no effect',
    ],
  );
  const gates = apply({ featureGates: { NodeSwap: true, APIServerTracing: true } }).warnings;
  t.same(gates.length, 1);
  t.match(gates[0], /^file: Feature gate APIServerTracing has no effect/);
});

t.test('a file is read from its path', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'config-file-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const path = join(dir, 'config.yaml');
  await writeFile(path, `apiVersion: ${head.apiVersion}\nkind: ${head.kind}\nmaxPods: 7\n`);
  const table = nodeAgentOptionTable(orchDialect);
  const options = parse([], orchDialect);
  const applied = await applyConfigFile(table, options, { path, dialect: orchDialect });
  t.equal(applied.values['max-pods'], 7);
  const missing = applyConfigFile(table, options, { path: `${path}.no`, dialect: orchDialect });
  await t.rejects(missing, /--config: cannot read .*config.yaml.no: ENOENT/);
});
