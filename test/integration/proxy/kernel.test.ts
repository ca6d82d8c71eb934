/**
 * The service proxy with this machine's kernel, in network namespaces of the test: the same services by nft and
 * iptables.
 */
import { existsSync } from 'node:fs';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import type { ProxyMode } from '#daemon/options/groups/service-proxy.js';
import { removeRules } from '#proxy/backend.js';
import { NodeProxy } from '#proxy/node-proxy.js';
import type { RunWithInput } from '#proxy/program/run-program.js';
import { eventually } from '#test/e2e/harness.js';
import { Networks, nodeAddress, outsideAddress, podAddresses } from '#test/integration/proxy/networks.js';
import { PolicyCases } from '#test/integration/proxy/policies.js';

t.setTimeout(120_000);

const has = (program: string) =>
  (process.env['PATH'] ?? '')
    .split(':')
    .concat('/usr/sbin', '/sbin')
    .some((folder) => existsSync(`${folder}/${program}`));
const needed = ['ip', 'nft', 'iptables', 'busybox'].filter((program) => !has(program));
const skip =
  process.getuid?.() !== 0 ? 'needs root' : needed.length > 0 ? `no ${needed.join(', ')} on this machine` : false;

const external = '198.51.100.7';
const closedExternal = '198.51.100.8';
const namespace = 'default';

async function publish(
  client: Client,
  name: string,
  spec: Service['spec'],
  addresses: readonly string[],
  protocol = 'TCP',
) {
  const ports = spec?.ports ?? [{ port: 80 }];
  const created = await client.resource(services).create({ metadata: { name, namespace }, spec: { ...spec, ports } });
  const { serviceName } = client.dialect.labels;
  await client.resource(endpointslices).create({
    metadata: { name, namespace, labels: { [serviceName]: name } },
    addressType: 'IPv4',
    ports: [{ name: '', port: 8080, protocol }],
    endpoints: addresses.map((address) => ({
      addresses: [address],
      nodeName: address.startsWith('10.244.0.') ? 'here' : 'there',
    })),
  });
  const { clusterIP = '', ports: [port] = [] } = created.spec ?? {};
  return { at: clusterIP, nodePort: `${nodeAddress}:${port?.nodePort}` };
}

t.test('in the kernel', { skip }, async (t) => {
  const networks = new Networks();
  t.teardown(() => networks.close());
  await networks.build();
  const cluster = await startCluster({ nodes: 0 });
  t.teardown(() => cluster.close());
  const { client } = cluster;
  const both = await publish(client, 'both', { type: 'NodePort' }, podAddresses);
  const first = await publish(client, 'first', {}, [podAddresses[0]]);
  const sticky = await publish(client, 'sticky', { sessionAffinity: 'ClientIP' }, podAddresses);
  const unserved = await publish(client, 'unserved', { type: 'NodePort' }, []);
  const local = await publish(client, 'local', { type: 'NodePort', externalTrafficPolicy: 'Local' }, [podAddresses[1]]);
  const elsewhere = await publish(client, 'elsewhere', { internalTrafficPolicy: 'Local' }, ['10.244.7.7']);
  for (const [name, ip, range] of [
    ['balanced', external, `${outsideAddress}/32`],
    ['guarded', closedExternal, '192.0.2.0/24'],
  ] as const) {
    await publish(client, name, { type: 'LoadBalancer', loadBalancerSourceRanges: [range] }, podAddresses);
    const service = await client.resource(services).get(name, { namespace });
    await client.resource(services).updateStatus({ ...service, status: { loadBalancer: { ingress: [{ ip }] } } });
  }

  // No server uses it, but the kernel must accept its rules.
  const sctp = { port: 132, protocol: 'SCTP' };
  await publish(client, 'sctp', { type: 'NodePort', ports: [sctp] }, podAddresses, 'SCTP');
  const policies = new PolicyCases(client, networks, first.at);
  await policies.prepare();

  let legacy = false;
  let isNftMissing = false;
  let isIpsetMissing = false;
  const calls: { readonly program: string; readonly input: string }[] = [];
  const inNode: RunWithInput = (program, args, input = '') => {
    const isMissing = (program === 'nft' && isNftMissing) || (program === 'ipset' && isIpsetMissing);
    if (isMissing) throw Object.assign(new Error(`no ${program}`), { code: 'ENOENT' });
    calls.push({ program, input });
    const match = legacy ? /^(ip6?tables)(.*)$/.exec(program) : null;
    return networks.inNode(match === null ? program : `${match[1]}-legacy${match[2]}`, args, input);
  };
  const changes = () => calls.filter(({ input, program }) => input !== '' && /nft|restore|ipset/.test(program));

  const withProxy = async (mode: ProxyMode, work: () => Promise<void>) => {
    const stop = new AbortController();
    const informers = new SharedInformerFactory({ client, clock, random: Math.random, log, metrics: new Registry() });
    const proxy = new NodeProxy({
      ...{ informers, clock, random: Math.random, log, metrics: new Registry(), mode },
      nodeNames: ['here'],
      settings: {
        table: 'test-proxy',
        clusterCIDRs: { IPv4: '10.244.0.0/16' },
        masqueradeBit: 14,
        masqueradeAll: false,
        nodePortAddresses: [],
        isClusterIPInternal: false,
      },
      gates: { topologyAwareHints: true, proxyTerminatingEndpoints: true },
      policies: true,
      syncPeriodMs: 300,
      minSyncPeriodMs: 20,
      run: inNode,
      kernel: {
        read: async (name) => (await networks.inNode('cat', [`/proc/sys/${name}`])).trim(),
        write: async (name, value) => {
          await networks.inNode('tee', [`/proc/sys/${name}`], value);
        },
      },
    });
    const running = Promise.all([informers.start(stop.signal), proxy.start(stop.signal)]);
    try {
      await proxy.ready();
      await work();
    } finally {
      stop.abort();
      await running;
    }
  };

  const { fetch, node, outside, pods } = {
    fetch: (from: string, to: string) => networks.fetch(from, to),
    ...{ node: networks.node, outside: networks.outside, pods: networks.pods },
  };
  const from = (answer: string) => answer.split(' ')[0];
  const works = async (t: Test) => {
    const answers = new Set<string | undefined>();
    for (let i = 0; i < 40 && answers.size < 2; i++) answers.add(from(await fetch(node, both.at)));
    t.same([...answers].sort(), [...podAddresses], 'a cluster address leads to all endpoints');
    const [pod = '', otherPod = ''] = pods;
    t.equal(await fetch(otherPod, first.at), `${podAddresses[0]} ${podAddresses[1]}`, 'a pod keeps its address');
    t.equal(await fetch(pod, first.at), `${podAddresses[0]} 10.244.0.1`, 'a pod reaches itself');
    t.match(await fetch(outside, first.at), /^10\.244\.0\.2 10\.244\.0\.1$/, 'who comes from elsewhere is masqueraded');
    for (const [who, at] of [
      ['outside', both.nodePort],
      ['node', both.nodePort],
      ['node', both.nodePort.replace(nodeAddress, '127.0.0.1')],
    ] as const)
      t.match(await fetch(who === 'outside' ? outside : node, at), /^10\.244/, `the node port at ${at}, from ${who}`);
    t.equal(
      await fetch(outside, local.nodePort),
      `${podAddresses[1]} ${outsideAddress}`,
      'the client’s address is kept',
    );
    t.match(await fetch(outside, external), /^10\.244/, 'the address of a load balancer');
    t.equal(await fetch(outside, closedExternal), 'silence', 'that is not for this client');
    const same = new Set<string | undefined>();
    for (let i = 0; i < 8; i++) same.add(from(await fetch(pod, sticky.at)));
    t.equal(same.size, 1, 'a client stays at its endpoint');
    for (const at of [unserved.at, unserved.nodePort]) t.equal(await fetch(outside, at), 'refused', 'no listener');
    t.equal(await fetch(pod, unserved.at), 'refused', 'nor for a pod');
    t.equal(await fetch(node, unserved.at), 'refused', 'nor for the node');
    t.equal(await fetch(pod, elsewhere.at), 'silence', 'endpoints are elsewhere');
  };
  const slices = client.resource(endpointslices);
  const setEndpoints = async (name: string, addresses: readonly string[]) => {
    const slice = await slices.get(name, { namespace });
    await slices.update({
      ...slice,
      endpoints: addresses.map((address) => ({ addresses: [address], nodeName: 'here' })),
    });
  };
  const follows = async (t: Test) => {
    await setEndpoints('first', [podAddresses[1]]);
    await eventually('another endpoint answers', async () => from(await fetch(node, first.at)) === podAddresses[1]);
    await setEndpoints('first', []);
    await eventually('no endpoint', async () => (await fetch(node, first.at)) === 'refused');
    await setEndpoints('first', [podAddresses[0]]);
    await eventually('the first answers again', async () => from(await fetch(node, first.at)) === podAddresses[0]);
    t.pass();
  };
  const listings = {
    nft: ['list', 'tables', 'inet'],
    'iptables-save': [],
    'ip6tables-save': [],
    ipset: ['list', '-name'],
  };
  /** Our rules in the kernel. */
  const left = async (program: keyof typeof listings) =>
    program === 'ipset' && !has(program) ? null : (await inNode(program, listings[program])).match(/test-proxy\S*/g);

  await t.test('by nft', async (t) => {
    await withProxy('auto', async () => {
      await works(t);
      await follows(t);
      await policies.apply();
      await policies.hold(t);
      await policies.follow(t);
    });
  });
  for (const variant of ['', 'legacy'] as const) {
    const why = variant === 'legacy' && !has('iptables-legacy') ? 'no iptables-legacy on this machine' : false;
    await t.test(`by iptables ${variant}`, { skip: why }, async (t) => {
      legacy = variant === 'legacy';
      if (legacy) await removeRules(inNode, 'test-proxy');
      // Without the program its tables cannot be removed either.
      isNftMissing = legacy;
      await withProxy(legacy ? 'auto' : 'iptables', async () => {
        isNftMissing = false;
        t.equal(await left('nft'), null, 'the tables of nft are gone');
        await works(t);
        calls.length = 0;
        await follows(t);
        t.notMatch(changes()[0]?.input, /test-proxy-services/, 'one endpoint’s change leaves the other services alone');
        await inNode('iptables', ['-t', 'nat', '-F']);
        await eventually('flushed chains are written again', async () => (await fetch(node, both.at)) !== 'silence');
        await policies.apply();
        await policies.hold(t);
      });
      t.match(await fetch(node, first.at), /^10\.244/, 'the rules stay');
      calls.length = 0;
      await withProxy('iptables', async () => {
        t.same(changes(), [], 'a new start changes nothing');
      });
      // Members of sets are part of the rules then.
      isIpsetMissing = true;
      await withProxy('iptables', async () => {
        await policies.hold(t);
        await policies.follow(t);
      });
      isIpsetMissing = false;
      await withProxy('nftables', async () => {
        for (const program of ['iptables-save', 'ip6tables-save', 'ipset'] as const)
          await eventually(`another mode takes them away: ${program}`, async () => (await left(program)) === null);
        t.match(await fetch(node, first.at), /^10\.244/);
      });
    });
  }
  await removeRules(inNode, 'test-proxy');
  t.equal(await left('nft'), null);
});
