/** Addresses of load balancers in a separate network: two nodes and a neighbour on one bridge. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { nodes, services } from '#api/core/v1/resources.gen.js';
import type { Node, Service } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { announcerOf } from '#cloud/baremetal/announcers.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { Announcer } from '#nodeagent/announce/announcer.js';
import { Links } from '#nodeagent/announce/links.js';

t.setTimeout(180_000);

const execute = promisify(execFile);
const run = async (program: string, ...args: string[]) => (await execute(program, args)).stdout;
const names = ['a', 'b'];
const subnets = [
  { address: '10.213.7.100', of: (i: number) => `10.213.7.${i}/24`, flags: [] },
  { address: 'fd13:7::100', of: (i: number) => `fd13:7::${i}/64`, flags: ['nodad'] },
];

const space = (name: string) => `announce-${process.pid}-${name}`;
const inside = (name: string, program: string, ...args: string[]) =>
  run('ip', 'netns', 'exec', space(name), program, ...args);

/** Why this process cannot create networks; undefined if it can. */
async function obstacle(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'needs root';
  try {
    await run('ip', 'netns', 'add', space('probe'));
    await run('ip', 'netns', 'del', space('probe'));
    return undefined;
  } catch (error) {
    return `no network namespaces: ${String(error)}`;
  }
}

async function makeNetwork(t: Test): Promise<void> {
  t.teardown(async () => {
    for (const name of [...names, 'c']) await run('ip', 'netns', 'del', space(name)).catch(() => undefined);
  });
  for (const name of [...names, 'c']) await run('ip', 'netns', 'add', space(name));
  await inside('c', 'ip', 'link', 'add', 'name', 'br0', 'type', 'bridge');
  await inside('c', 'ip', 'link', 'set', 'br0', 'up');
  for (const name of names) {
    const ends = ['eth0', 'netns', space(name), 'type', 'veth', 'peer', 'name', `port-${name}`, 'netns', space('c')];
    await run('ip', 'link', 'add', ...ends);
    await inside('c', 'ip', 'link', 'set', `port-${name}`, 'master', 'br0', 'up');
    await inside(name, 'ip', 'link', 'set', 'lo', 'up');
    await inside(name, 'ip', 'link', 'set', 'eth0', 'up');
  }
  for (const { of, flags } of subnets) {
    await inside('c', 'ip', 'address', 'add', of(1), 'dev', 'br0', ...flags);
    for (const [i, name] of names.entries()) {
      await inside(name, 'ip', 'address', 'add', of(i + 2), 'dev', 'eth0', ...flags);
    }
  }
}

const hardware = async (name: string) =>
  (JSON.parse(await inside(name, 'ip', '-j', 'link', 'show', 'dev', 'eth0')) as { address: string }[])[0]?.address ??
  '';

/** The hardware address to which the neighbour sends packets for the address. */
async function neighbour(address: string): Promise<string | undefined> {
  const all = JSON.parse(await inside('c', 'ip', '-j', 'neighbour', 'show', address)) as { lladdr?: string }[];
  return all[0]?.lladdr;
}

const has = async (name: string, address: string) =>
  (await inside(name, 'ip', 'address', 'show', 'to', address)).includes(address);

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const deadline = clock.monotonic() + 60_000; !(await isSo()); ) {
    if (clock.monotonic() > deadline) throw new Error(`never: ${what}`);
    await clock.sleep(50);
  }
}

const skip = (await obstacle()) ?? false;

t.test('neighbours follow an address from node to node', { skip }, async (t) => {
  await makeNetwork(t);
  const api = new FakeApi({ dialect, clock, resources: [nodes, services, endpointslices] });
  const stop = new AbortController();
  const informers = new SharedInformerFactory({ client: api.client, clock, random: Math.random, log });
  const running = [informers.start(stop.signal)];
  for (const nodeName of names) {
    const links = new Links({
      run: (program, args) => inside(nodeName, program, ...args),
      set: async (path, value) => {
        await inside(nodeName, 'sh', '-c', `echo ${value} > /proc/sys/${path}`);
      },
    });
    running.push(new Announcer({ informers, clock, log, nodeName, links }).run(stop.signal));
  }
  t.teardown(async () => {
    stop.abort();
    await Promise.all(running);
  });
  const ready = (status: string) => ({ conditions: [{ type: 'Ready', status }] });
  for (const name of names) api.seed<Node>(nodes, { metadata: { name }, spec: {}, status: ready('True') });
  const addresses = subnets.map(({ address }) => address);
  api.seed<Service>(services, {
    metadata: {
      name: 'x',
      namespace: 'n',
      annotations: { [dialect.annotations.loadBalancerAddresses]: addresses.join() },
    },
    spec: { type: 'LoadBalancer', ports: [{ port: 80, targetPort: 80 }] },
    status: { loadBalancer: { ingress: addresses.map((ip) => ({ ip })) } },
  });

  for (const address of addresses) {
    const first = announcerOf(address, names) ?? '';
    const other = names.find((name) => name !== first) ?? '';
    await until(`${first} has ${address}`, () => has(first, address));
    t.notOk(await has(other, address), 'one node has it');
    // No program receives this datagram; sending it makes the neighbour ask for the hardware address.
    await until('the neighbour knows the address', async () => {
      await inside('c', 'bash', '-c', `echo > /dev/udp/${address}/9`).catch(() => undefined);
      return (await neighbour(address)) === (await hardware(first));
    });
    api.change<Node>(nodes, first, (node) => {
      node.status = ready('Unknown');
    });
    // No datagrams any more: the neighbour learns the address from the announcement of the node.
    const expected = await hardware(other);
    await until('the neighbour follows', async () => (await neighbour(address)) === expected);
    await until('the first node gives it up', async () => !(await has(first, address)));
    api.change<Node>(nodes, first, (node) => {
      node.status = ready('True');
    });
    const back = await hardware(first);
    await until('and back', async () => (await neighbour(address)) === back);
  }
});
