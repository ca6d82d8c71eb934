/** Effects of options of logs, of gates, and of the daemons that run beside the agent. */
import { collectorOptions, podNetworkOptions } from '#nodeagent/options/declarations.js';
import { serviceProxyOptions } from '#nodeagent/options/service-proxy.js';
import { type Effect, type Effects, type Proof, seenIn, sees } from '#nodeagent/testing/effects/effect.js';
import { logLines, waitingLine } from '#nodeagent/testing/effects/log-sights.js';
import { limitedPod, started } from '#nodeagent/testing/effects/node-sights.js';

const all = (table: object, effect: (type: string, name: string) => Effect): Effects =>
  Object.fromEntries(Object.entries(table).map(([name, { type }]) => [name, effect(String(type), name)]));

/** An instance of an option whose value does not matter. */
const anyValue = (type: string): string =>
  type === 'bool' ? 'true' : type === 'int' ? '7' : type === 'duration' ? '7s' : '/f';

const serviceProxyValues: Readonly<Record<string, string>> = {
  'network-policies': 'false',
  'service-proxy-cluster-cidr': '10.0.0.0/8',
  'service-proxy-mode': 'iptables',
};

const kernel = seenIn('test/integration/proxy/kernel.test.ts', 'in the kernel');
const chains = seenIn('pkg/proxy/iptables/service-chains.test.ts', 'a cluster address');
const routes = seenIn('pkg/podnetwork/pod-network.test.ts', 'routes follow the nodes');

const baseTable = (title: string): Proof => seenIn('pkg/proxy/services/nft-base-table.test.ts', title);

const besideTests: Readonly<Record<string, Proof>> = {
  'network-policies': seenIn('test/e2e/services.test.ts', 'network policies'),
  'pod-network': routes,
  'pod-network-cluster-cidr': seenIn('pkg/podnetwork/kernel.test.ts', 'only different routes are changed'),
  'pod-network-nodes': routes,
  'pod-network-tunnel': seenIn('pkg/podnetwork/kernel.test.ts', 'the tunnel is created, changed and removed'),
  'service-proxy': seenIn('test/e2e/services.test.ts', 'services'),
  'service-proxy-cluster-cidr': chains,
  'service-proxy-cluster-ips-internal': chains,
  'service-proxy-masquerade-all': chains,
  'service-proxy-mode': kernel,
  'service-proxy-nodeport-addresses': baseTable('node ports are open at the given addresses only'),
  'service-proxy-nodes': kernel,
  'service-proxy-table': baseTable('the table has the name of the option'),
};

function testOf(name: string): Proof {
  const proof = besideTests[name];
  if (proof === undefined) throw new Error(`--${name} has no test`);
  return proof;
}

export const besideEffects: Effects = {
  ...all(serviceProxyOptions, (type, name) => ({
    argument: serviceProxyValues[name] ?? anyValue(type),
    proof: testOf(name),
  })),
  ...all(podNetworkOptions, (type, name) => ({
    argument: name.endsWith('cidr') ? '10.0.0.0/8' : anyValue(type),
    proof: testOf(name),
  })),
  ...all(collectorOptions, (type) => ({ argument: anyValue(type), proof: 'inert' })),
  'feature-gates': {
    argument: 'NodeSwap=true',
    fields: { featureGates: { NodeSwap: true } },
    proof: sees(
      2 ** 30,
      started(({ container }) => container.linux.resources?.memorySwapLimitInBytes, limitedPod),
    ),
  },
  'logging-format': {
    argument: 'json',
    fields: { logging: { format: 'json' } },
    proof: sees({ stdout: '', stderr: /^\{"level":"info".*\n\{"level":"error"/ }, logLines),
  },
  'log-flush-frequency': {
    argument: '7s',
    fields: { logging: { flushFrequency: 7_000_000_000 } },
    proof: sees(['', /"info"/], waitingLine(7000)),
  },
  'log-json-split-stream': {
    argument: 'true',
    fields: { logging: { options: { json: { splitStream: true } } } },
    with: ['--logging-format=json'],
    proof: sees({ stdout: /^\{"level":"info".*\n$/, stderr: /^\{"level":"error".*\n$/ }, logLines),
  },
  'log-json-info-buffer-size': {
    argument: '7Ki',
    fields: { logging: { options: { json: { infoBufferSize: '7Ki' } } } },
    with: ['--logging-format=json', '--log-json-split-stream'],
    proof: sees(['', /"info"/], waitingLine(30_000)),
  },
  v: {
    argument: '4',
    fields: { logging: { verbosity: 4 } },
    proof: sees({ stderr: /^I.*"debug"\n/ }, logLines),
  },
  vmodule: {
    argument: 'log-sights=4',
    fields: { logging: { vmodule: [{ filePattern: 'log-sights', verbosity: 4 }] } },
    proof: sees({ stderr: /^I.*"debug"\n/ }, logLines),
  },
  'add-dir-header': { argument: 'true', proof: 'inert' },
  alsologtostderr: { argument: 'true', proof: 'inert' },
  'log-backtrace-at': { argument: 'a.go:7', proof: 'inert' },
  'log-dir': { argument: '/d', proof: 'inert' },
  'log-file': { argument: '/f', proof: 'inert' },
  'log-file-max-size': { argument: '7', proof: 'inert' },
  logtostderr: { argument: 'false', proof: 'inert' },
  'one-output': { argument: 'true', proof: 'inert' },
  'skip-headers': { argument: 'true', proof: 'inert' },
  'skip-log-headers': { argument: 'true', proof: 'inert' },
  stderrthreshold: { argument: 'INFO', proof: 'inert' },
  'tracing-config-file': {
    argument: '/f',
    proof: seenIn('test/integration/tracing/whole-way.test.ts', 'the node agent and its runtime'),
  },
};

const shutdown = (title: string): Effect => ({ proof: seenIn('pkg/cluster/node-agent/shutdown.test.ts', title) });

/** Fields without an option. */
export const fieldEffects: Effects = {
  apiVersion: {
    proof: seenIn('pkg/nodeagent/options/config/file.test.ts', 'a file is read from its path'),
  },
  kind: {
    proof: seenIn('pkg/nodeagent/options/config/file.test.ts', 'a file is read from its path'),
  },
  showHiddenMetricsForVersion: {
    proof: seenIn('pkg/nodeagent/options/config/file.test.ts', 'fields without effect are warned about'),
  },
  shutdownGracePeriod: shutdown('pods end by the periods of the file'),
  shutdownGracePeriodCriticalPods: shutdown('pods end by the periods of the file'),
  shutdownGracePeriodByPodPriority: shutdown('periods by priority replace the others'),
};
