import t from 'tap';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { formatDefault } from '#daemon/options/help.js';
import { type OptionDeclaration, OptionsError, type OptionTable } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';
import { validateOptions } from '#daemon/options/validate.js';
import { collectorOptions, podNetworkOptions } from '#nodeagent/options/declarations.js';
import { type NodeAgentOptionTable, nodeAgentOptionRules, nodeAgentOptionTable } from '#nodeagent/options/options.js';
import { serviceProxyOptions } from '#nodeagent/options/service-proxy.js';
import { specifiedOptions } from '#nodeagent/options/testing/specified-options.js';

function parse(argv: readonly string[], dialect: Dialect = orchDialect): ParsedOptions<NodeAgentOptionTable> {
  const argument = dialect === orchDialect ? [] : [`--dialect=${dialect.name}`];
  const parsed = parseOptions(nodeAgentOptionTable(dialect), [...argument, ...argv], { program: 'p' });
  if (parsed.kind !== 'run') throw new Error(parsed.kind);
  return parsed;
}

/** Returns the problems reported by the validation or, if parsing fails, by the parser. */
function messages(argv: readonly string[], dialect: Dialect = orchDialect): readonly string[] {
  try {
    validateOptions(parse(argv, dialect), nodeAgentOptionRules);
  } catch (error) {
    if (error instanceof OptionsError) return error.messages;
    throw error;
  }
  return [];
}

t.test('every option of the specification, its default and its deprecation', async (t) => {
  const table: OptionTable = nodeAgentOptionTable(orchDialect);
  for (const [name, shown, inFavorOfFile] of specifiedOptions) {
    const declaration = table[name];
    if (declaration === undefined) {
      t.fail(`--${name} is missing`);
      continue;
    }
    const actual =
      formatDefault(declaration)
        ?.replaceAll('"', '')
        .replace(/^\[|\]$/g, '') ?? '';
    t.equal(actual, shown, `--${name}`);
    t.equal(declaration.deprecated === 'set it in the --config file', inFavorOfFile === 'D', `--${name} D`);
  }
  const specified = new Set(specifiedOptions.map(([name]) => name));
  t.same(
    Object.keys(table).filter((name) => !specified.has(name)),
    [
      'dialect',
      'local-volumes-dir',
      'pod-logs-dir',
      'node-status-report-frequency',
      'node-lease-duration-seconds',
      'contention-profiling',
      'enable-profiling-handler',
      'enable-system-log-handler',
      'enable-debug-flags-handler',
      'memory-throttling-factor',
      'memory-swap-behavior',
      'config-map-and-secret-change-detection-strategy',
      'dns-address',
      ...Object.keys(serviceProxyOptions),
      ...Object.keys(podNetworkOptions),
      ...Object.keys(collectorOptions),
      'tracing-config-file',
    ],
  );
});

const samples: Readonly<Record<OptionDeclaration['type'], readonly [string, unknown]>> = {
  string: ['text', 'text'],
  strings: ['a,b', ['a', 'b']],
  stringArray: ['a,b', ['a,b']],
  bool: ['true', true],
  int: ['3', 3],
  float: ['2.5', 2.5],
  duration: ['1m30s', 90_000],
  map: ['a=1,b=2', { a: '1', b: '2' }],
  boolMap: ['AllAlpha=true', { AllAlpha: true }],
};

/** Options whose text is checked. */
const checkedSamples: Readonly<Record<string, readonly [string, unknown]>> = {
  'log-json-info-buffer-size': ['2Ki', '2Ki'],
  vmodule: ['a=1,b=2', ['a=1', 'b=2']],
};

t.test('every option is parsed', async (t) => {
  for (const dialect of [orchDialect, kubernetesDialect]) {
    const table: OptionTable = nodeAgentOptionTable(dialect);
    for (const [name, declaration] of Object.entries(table)) {
      if (name === 'dialect') continue;
      const first = declaration.oneOf?.at(-1);
      const [text, value] = checkedSamples[name] ?? samples[declaration.type];
      const expected = first === undefined ? value : declaration.type === 'strings' ? [first] : first;
      for (const spelled of [name, ...(declaration.aliases ?? [])]) {
        const values: Readonly<Record<string, unknown>> = parse([`--${spelled}=${first ?? text}`], dialect).values;
        t.same(values[name], expected, `--${spelled}`);
      }
    }
  }
});

t.test('the dialect determines paths, media types and other names', async (t) => {
  const { values } = parse(['--kube-api-qps=50', '--kube-reserved=cpu=1', '--kubelet-cgroups=/a'], kubernetesDialect);
  t.match(values, {
    'cert-dir': '/var/lib/kubelet/pki',
    'root-dir': '/var/lib/kubelet',
    'orch-api-content-type': 'application/vnd.kubernetes.protobuf',
    'volume-plugin-dir': '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/',
    'orch-api-qps': 50,
    'orch-reserved': { cpu: '1' },
    'nodeagent-cgroups': '/a',
  });
  t.equal(parse(['--orchconfig=/f']).values.kubeconfig, '/f');
  t.match(messages(['--kube-api-qps=50']), [/^unknown flag: --kube-api-qps/]);
});

t.test('defaults are valid', async (t) => {
  for (const dialect of [orchDialect, kubernetesDialect]) t.same(messages([], dialect), []);
});

const alpha = (gate: string) => `--feature-gates=${gate}=true`;

t.test('valid values are accepted', async (t) => {
  const rows: string[][] = [
    ['--port=0', '--read-only-port=0', '--healthz-port=0'],
    ['--enforce-node-allocatable=none', '--cgroups-per-qos=false'],
    ['--enforce-node-allocatable=pods,system-reserved', '--system-reserved-cgroup=/system'],
    ['--enforce-node-allocatable=orch-reserved', '--orch-reserved-cgroup=/orch'],
    ['--system-cgroups=/system', '--cgroup-root=/'],
    ['--node-labels=orch.io/os=linux,node.orch.io/a=b,x.nodeagent.orch.io/a=b,example.com/a=,b=c'],
    ['--register-with-taints=a=b:NoSchedule,example.com/x:NoExecute'],
    ['--node-ip=10.0.0.1,fd00::1'],
    ['--eviction-soft=memory.available<200Mi', '--eviction-soft-grace-period=memory.available=1m30s'],
    ['--eviction-hard=nodefs.available<0%,memory.available<100%'],
    ['--eviction-hard='],
    ['--reserved-cpus=0-3,8', '--reserved-memory=0:memory=1Gi,hugepages-2Mi=4Mi', '--reserved-memory=1:memory=1Gi'],
    [alpha('SeccompDefault'), '--seccomp-default'],
    [alpha('CustomCPUCFSQuotaPeriod'), '--cpu-cfs-quota-period=1us'],
    [alpha('QOSReserved'), '--qos-reserved=memory=50%'],
    ['--runonce'],
    ['--runonce', '--enable-server=false'],
    ['--topology-manager-policy=restricted', '--topology-manager-scope=pod'],
    ['--rotate-server-certificates'],
    // Validation waits for the file.
    ['--config=/f', '--system-cgroups=/system'],
  ];
  for (const argv of rows) t.same(messages(argv), [], argv.join(' '));
});

t.test('invalid values are refused with a message', async (t) => {
  const rows: [string[], RegExp][] = [
    [['--port=65536'], /^invalid configuration: port \(--port\) 65536 must be between 0 and 65535, inclusive$/],
    [['--read-only-port=-1'], /^invalid configuration: readOnlyPort .* must be between/],
    [['--healthz-port=70000'], /^invalid configuration: healthzPort .* must be between 1 and/],
    [['--oom-score-adj=-1001'], /^invalid configuration: oomScoreAdj .* must be between -1000 and 1000/],
    [
      ['--image-gc-high-threshold=101'],
      /^invalid configuration: imageGCHighThresholdPercent .* 101 must be between 0 and 100/,
    ],
    [
      ['--image-gc-low-threshold=85'],
      /^invalid configuration: imageGCLowThresholdPercent .* 85 must be less than imageGCHigh.* 85$/,
    ],
    [['--iptables-drop-bit=32'], /^invalid configuration: iptablesDropBit .* must be between 0 and 31/],
    [
      ['--iptables-masquerade-bit=15'],
      /^invalid configuration: iptablesDropBit .* must differ from iptablesMasqueradeBit/,
    ],
    [['--node-status-max-images=-2'], /^invalid configuration: nodeStatusMaxImages .* must be -1 or greater$/],
    [['--container-log-max-files=1'], /^invalid configuration: containerLogMaxFiles .* must be 2 or greater$/],
    [['--container-log-max-size=ten'], /^invalid configuration: containerLogMaxSize .* "ten" must be a quantity/],
    [['--max-pods=-1'], /^invalid configuration: maxPods .* must not be a negative number$/],
    [['--event-burst=-1'], /^invalid configuration: eventBurst .* negative/],
    [['--registry-qps=-1'], /^invalid configuration: registryPullQPS .* negative/],
    [['--orch-api-burst=-1'], /^invalid configuration: orchAPIBurst .* negative/],
    [['--node-lease-duration-seconds=0'], /^invalid configuration: nodeLeaseDurationSeconds .* must be 1 or greater$/],
    [['--runtime-request-timeout=0s'], /^invalid configuration: runtimeRequestTimeout .* greater than zero$/],
    [['--seccomp-default'], /^the SeccompDefault feature gate must be enabled in order to use/],
    [['--cpu-cfs-quota-period=50ms'], /requires feature gate CustomCPUCFSQuotaPeriod$/],
    [[alpha('CustomCPUCFSQuotaPeriod'), '--cpu-cfs-quota-period=2s'], /2s must be between 1usec and 1sec/],
    [['--feature-gates=CPUManager=false', '--cpu-manager-policy=static'], /requires feature gate CPUManager$/],
    [['--feature-gates=MemoryManager=false', '--memory-manager-policy=Static'], /feature gate MemoryManager$/],
    [['--feature-gates=TopologyManager=false', '--topology-manager-scope=pod'], /feature gate TopologyManager$/],
    [
      ['--feature-gates=RotateNodeAgentServerCertificate=false', '--rotate-server-certificates'],
      /^invalid configuration: serverTLSBootstrap/,
    ],
    [['--feature-gates=CPUManagerPolicyOptions=false', '--cpu-manager-policy-options=a=b'], /CPUManagerPolicyOptions$/],
    [['--feature-gates=Nothing=true'], /unrecognized feature gate: Nothing/],
    [
      ['--memory-swap-behavior=LimitedSwap'],
      /^invalid configuration: memorySwap.swapBehavior .* requires feature gate NodeSwap$/,
    ],
    [
      ['--memory-throttling-factor=1.5'],
      /^invalid configuration: memoryThrottlingFactor .* 1.5 must be greater than 0 and less than/,
    ],
    [['--memory-throttling-factor=0'], /^invalid configuration: memoryThrottlingFactor .* 0 must be greater than 0/],
    [['--qos-reserved=memory=50%'], /requires feature gate QOSReserved$/],
    [[alpha('QOSReserved'), '--qos-reserved=cpu=50%'], /only memory is supported, not cpu$/],
    [[alpha('QOSReserved'), '--qos-reserved=memory=500%'], /must be a percentage/],
    [['--enforce-node-allocatable=none,pods'], /may not contain additional enforcements when "none"/],
    [
      ['--enforce-node-allocatable=some'],
      /option "some" specified .* Valid options are "pods", "system-reserved", "orch-reserved", or "none"$/,
    ],
    [
      ['--enforce-node-allocatable=system-reserved'],
      /^invalid configuration: systemReservedCgroup .* must be specified when "system-reserved"/,
    ],
    [
      ['--enforce-node-allocatable=orch-reserved'],
      /^invalid configuration: orchReservedCgroup .* must be specified when "orch-reserved"/,
    ],
    [['--cgroups-per-qos=false'], /not supported unless cgroupsPerQOS \(--cgroups-per-qos\) is set to true$/],
    [
      ['--system-cgroups=/a'],
      /^invalid configuration: systemCgroups .* was specified and cgroupRoot .* was not specified$/,
    ],
    [['--system-reserved=gpu=1'], /cannot reserve "gpu"/],
    [['--orch-reserved=cpu=-1'], /"-1" must be a quantity that is not negative$/],
    [['--reserved-cpus=3-1'], /unable to parse reservedSystemCPUs .* 3-1, error/],
    [['--reserved-cpus=0', '--system-reserved-cgroup=/a'], /can't use reservedSystemCPUs .* with systemReservedCgroup/],
    [['--reserved-memory=memory=1Gi'], /is not of the form node:type=quantity/],
    [['--reserved-memory=0:cpu=1'], /type "cpu" must be memory or hugepages/],
    [['--reserved-memory=0:memory=0'], /reserved memory may not be zero for NUMA node 0 and resource "memory"$/],
    [
      ['--reserved-memory=0:memory=1', '--reserved-memory=0:memory=2'],
      /has a duplicate value for NUMA node 0 and resource "memory"$/,
    ],
    [['--eviction-hard=memory.available'], /^evictionHard .* is not of the form signal<quantity$/],
    [['--eviction-hard=disk<1Gi'], /^evictionHard .* unknown signal "disk"$/],
    [['--eviction-hard=memory.available<101%'], /percentage 101% must be between/],
    [
      ['--eviction-soft=memory.available<1Gi'],
      /grace period must be specified for the soft threshold of memory.available$/,
    ],
    [['--eviction-soft-grace-period=memory.available=soon'], /invalid duration/],
    [['--eviction-minimum-reclaim=memory.available=x'], /^evictionMinimumReclaim/],
    [['--node-labels=orch.io/role=x'], /unknown labels of the product's own domain: orch.io\/role/],
    [['--node-labels=a=-b'], /a valid label must be/],
    [['--register-with-taints=a=b'], /is not of the form key=value:effect$/],
    [['--register-with-taints=a=b:Never'], /is not of the form/],
    [['--node-ip=10.0.0.1,10.0.0.2'], /must be one IP address or one of each family$/],
    [['--node-ip=here'], /must be one IP address/],
    [['--node-ip=0.0.0.0,fd00::1'], /cannot include '0\.0\.0\.0' or '::'$/],
    [['--address=here'], /^address \(--address\) "here": must be a valid IP address/],
    [['--cluster-dns=dns'], /^clusterDNS .* must be a valid IP address/],
    [['--tls-cert-file=/a'], /^tlsCertFile .* and tlsPrivateKeyFile .* must be given together$/],
    [['--runonce', '--enable-server'], /^--runonce must not be combined with --enable-server$/],
    [['--container-runtime=docker'], /^unsupported CRI runtime: "docker", only "remote" is currently supported$/],
    [['--cgroup-driver=none'], /must be one of: cgroupfs, systemd$/],
    [['--hairpin-mode=x'], /option "x" specified for hairpinMode .* "none", "hairpin-veth" or "promiscuous-bridge"$/],
    [['--authorization-mode=RBAC'], /must be one of/],
    [['--tls-min-version=1.2'], /^unknown tls version "1.2"$/],
  ];
  for (const [argv, expected] of rows) {
    const problems = messages(argv);
    t.equal(problems.length, 1, `${argv.join(' ')}: ${problems.join('; ')}`);
    t.match(problems[0] ?? '', expected);
  }
});

t.test('all problems are reported at once', async (t) => {
  t.equal(messages(['--max-pods=-1', '--port=-1', '--node-ip=x', '--system-cgroups=/a']).length, 4);
  t.same(messages(['--service-proxy-cluster-cidr=10.0.0.0/8,x', '--service-proxy-table=a b']), [
    '--service-proxy-cluster-cidr "x" must be a range of addresses',
    '--service-proxy-table "a b" must be of letters, digits, - and _',
  ]);
});

t.test('the name of the reserved resources follows the dialect', async (t) => {
  const argv = ['--enforce-node-allocatable=kube-reserved', '--kube-reserved-cgroup=/kube'];
  t.same(messages(argv, kubernetesDialect), []);
  t.match(messages(['--node-labels=kubernetes.io/role=x'], kubernetesDialect), [/kubelet.kubernetes.io/]);
});
