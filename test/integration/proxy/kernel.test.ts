/** The service proxy in the kernel of this machine, in networks of the test's own: the same services by nft and by iptables. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { startCluster } from '#cmd/orch/start-cluster.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { type ProxyMode, removeRules } from '#proxy/backend.js';
import { NodeProxy } from '#proxy/node-proxy.js';
import { type RunWithInput, runWithInput } from '#proxy/program/run-program.js';
import { eventually, run } from '#test/e2e/harness.js';

t.setTimeout(120_000);

const has = (program: string) =>
  ['/usr/sbin', '/sbin', '/usr/bin', '/bin'].some((folder) => existsSync(`${folder}/${program}`));
const needed = ['ip', 'nft', 'iptables', 'busybox'].filter((program) => !has(program));
const skip =
  process.getuid?.() !== 0 ? 'needs root' : needed.length > 0 ? `no ${needed.join(', ')} on this machine` : false;

const external = '198.51.100.7';
const closedExternal = '198.51.100.8';
const outsideAddress = '198.18.77.2';
const nodeAddress = '198.18.77.1';
const podAddresses = ['10.244.0.2', '10.244.0.3'] as const;
const namespace = 'default';

/** Answers with its own address and its client's. */
const server = `require('http').createServer(({ socket: { localAddress, remoteAddress } }, response) => {
  response.setHeader('connection', 'close');
  response.end(localAddress + ' ' + remoteAddress);
}).listen(8080, '0.0.0.0', () => console.log('listening'));`;

/** A node, two pods of it, and somebody outside, each in a network namespace. */
class Networks {
  readonly node = `px${process.pid}n`;
  readonly outside = `px${process.pid}o`;
  readonly pods = podAddresses.map((_, i) => `px${process.pid}p${i}`);

  async build(): Promise<void> {
    for (const name of this.#all) this.#ip('netns', 'add', name);
    for (const name of this.#all) this.#ip('-n', name, 'link', 'set', 'lo', 'up');
    this.#connect(this.outside, 'out', [`${nodeAddress}/24`], `${outsideAddress}/24`, nodeAddress);
    for (const [i, pod] of this.pods.entries()) {
      this.#connect(pod, `pod${i}`, ['10.244.0.1/32'], `${podAddresses[i]}/32`, '10.244.0.1');
      this.#ip('-n', this.node, 'route', 'add', `${podAddresses[i]}/32`, 'dev', `pod${i}`);
    }
    await this.inNode('sysctl', ['-q', '-w', 'net.ipv4.ip_forward=1']);
    // Packets for addresses of services have to be routed somewhere before they are translated.
    this.#ip('-n', this.node, 'route', 'add', 'default', 'via', outsideAddress);
  }

  #connect(name: string, link: string, near: readonly string[], far: string, gateway: string): void {
    this.#ip('-n', this.node, 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    for (const address of near) this.#ip('-n', this.node, 'address', 'add', address, 'dev', link);
    this.#ip('-n', this.node, 'link', 'set', link, 'up');
    this.#ip('-n', name, 'address', 'add', far, 'dev', 'eth0');
    this.#ip('-n', name, 'link', 'set', 'eth0', 'up');
    this.#ip('-n', name, 'route', 'replace', `${gateway}/32`, 'dev', 'eth0', 'scope', 'link');
    this.#ip('-n', name, 'route', 'add', 'default', 'via', gateway);
  }

  inNode(program: string, args: readonly string[], input?: string): Promise<string> {
    return runWithInput('ip', ['netns', 'exec', this.node, program, ...args], input);
  }

  /** What the server has said, or why there is no answer. */
  async fetch(from: string, to: string): Promise<string> {
    const wget = ['busybox', 'timeout', '1', 'busybox', 'wget', '-q', '-O-', `http://${to}/`];
    const { code, stderr, stdout } = await run('ip', ['netns', 'exec', from, ...wget]);
    if (code === 0) return stdout;
    return stderr.includes('refused') ? 'refused' : 'silence';
  }

  close(): void {
    for (const name of this.#all) {
      try {
        this.#ip('netns', 'delete', name);
      } catch {
        // It was not made.
      }
    }
  }

  get #all(): string[] {
    return [this.node, this.outside, ...this.pods];
  }

  #ip(...args: string[]): void {
    execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  }
}

async function publish(client: Client, name: string, spec: Service['spec'], addresses: readonly string[]) {
  const ports = spec?.ports ?? [{ port: 80 }];
  const made = await client.resource(services).create({ metadata: { name, namespace }, spec: { ...spec, ports } });
  const { serviceName } = client.dialect.labels;
  await client.resource(endpointslices).create({
    metadata: { name, namespace, labels: { [serviceName]: name } },
    addressType: 'IPv4',
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    endpoints: addresses.map((address) => ({
      addresses: [address],
      nodeName: address.startsWith('10.244.0.') ? 'here' : 'there',
    })),
  });
  const { clusterIP = '', ports: [port] = [] } = made.spec ?? {};
  return { at: clusterIP, nodePort: `${nodeAddress}:${port?.nodePort}` };
}

t.test('in the kernel', { skip }, async (t) => {
  const networks = new Networks();
  t.teardown(() => networks.close());
  await networks.build();
  for (const pod of networks.pods) {
    const running = spawn('ip', ['netns', 'exec', pod, process.execPath, '-e', server], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.teardown(() => running.kill());
    await once(running.stdout, 'data');
  }
  const cluster = await startCluster({ nodes: 0 });
  t.teardown(() => cluster.close());
  const { client } = cluster;
  const both = await publish(client, 'both', { type: 'NodePort' }, podAddresses);
  const first = await publish(client, 'first', {}, [podAddresses[0]]);
  const sticky = await publish(client, 'sticky', { sessionAffinity: 'ClientIP' }, podAddresses);
  const nobody = await publish(client, 'nobody', { type: 'NodePort' }, []);
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

  let legacy = false;
  let isNftMissing = false;
  const calls: { readonly program: string; readonly input: string }[] = [];
  const inNode: RunWithInput = (program, args, input = '') => {
    if (program === 'nft' && isNftMissing) throw Object.assign(new Error('no nft'), { code: 'ENOENT' });
    calls.push({ program, input });
    const match = legacy ? /^(ip6?tables)(.*)$/.exec(program) : null;
    return networks.inNode(match === null ? program : `${match[1]}-legacy${match[2]}`, args, input);
  };
  const changes = () => calls.filter(({ input, program }) => input !== '' && /nft|restore/.test(program));

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
    for (const at of [nobody.at, nobody.nodePort]) t.equal(await fetch(outside, at), 'refused', 'nobody is there');
    t.equal(await fetch(pod, nobody.at), 'refused', 'nor for a pod');
    t.equal(await fetch(node, nobody.at), 'refused', 'nor for the node');
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
    await eventually('nobody answers', async () => (await fetch(node, first.at)) === 'refused');
    await setEndpoints('first', [podAddresses[0]]);
    await eventually('the first answers again', async () => from(await fetch(node, first.at)) === podAddresses[0]);
    t.pass();
  };
  /** Of ours, in the kernel. */
  const left = async (program: 'nft' | 'iptables-save') =>
    (await inNode(program, program === 'nft' ? ['list', 'tables', 'inet'] : [])).match(/test-proxy\S*/g);

  await t.test('by nft', async (t) => {
    await withProxy('auto', async () => {
      await works(t);
      await follows(t);
    });
  });
  for (const variant of ['', 'legacy'] as const) {
    const why = variant === 'legacy' && !has('iptables-legacy') ? 'no iptables-legacy on this machine' : false;
    await t.test(`by iptables ${variant}`, { skip: why }, async (t) => {
      legacy = variant === 'legacy';
      if (legacy) await removeRules(inNode, 'test-proxy');
      // Where the program is missing, it cannot take its tables away either.
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
      });
      t.match(await fetch(node, first.at), /^10\.244/, 'the rules stay');
      calls.length = 0;
      await withProxy('iptables', async () => {
        t.same(changes(), [], 'a new start changes nothing');
      });
      await withProxy('nftables', async () => {
        t.equal(await left('iptables-save'), null, 'another mode takes them away');
        t.match(await fetch(node, first.at), /^10\.244/);
      });
    });
  }
  await removeRules(inNode, 'test-proxy');
  t.equal(await left('nft'), null);
});
