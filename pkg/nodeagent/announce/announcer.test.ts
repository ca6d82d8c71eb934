import t, { type Test } from 'tap';
import { nodes, services } from '#api/core/v1/resources.gen.js';
import type { Node, Service } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { frozen } from '#client/testing/frozen.js';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { Announcer, type AnnouncerLinks } from '#nodeagent/announce/announcer.js';

class Machine implements AnnouncerLinks {
  /** Expiry by address. */
  readonly addresses = new Map<string, number>();
  announced: string[] = [];
  failing = false;
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  get present(): string[] {
    return [...this.addresses].flatMap(([address, untilMs]) => (untilMs > this.#clock.monotonic() ? [address] : []));
  }

  async add(address: string, seconds: number) {
    if (this.failing) throw new Error('no interface');
    const isNew = !this.present.includes(address);
    this.addresses.set(address, this.#clock.monotonic() + seconds * 1000);
    return isNew;
  }

  async remove(address: string) {
    if (this.failing) throw new Error('busy');
    this.addresses.delete(address);
  }

  async announce(addresses: readonly string[]) {
    this.announced.push(...addresses);
  }
}

async function start(t: Test) {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect, clock, resources: [nodes, services, endpointslices] });
  const informers = new SharedInformerFactory({ client: api.client, clock, random: () => 0.5, log, transform: frozen });
  const machine = new Machine(clock);
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
  api.seed<Node>(nodes, { metadata: { name: 'a' }, spec: {}, status: ready });
  const stop = new AbortController();
  const running = [
    informers.start(stop.signal),
    new Announcer({ informers, clock, log, nodeName: 'a', links: machine }).run(stop.signal),
  ];
  const advance = async (ms: number) => {
    for (let remainingMs = ms; remainingMs > 0; remainingMs -= 500) {
      await clock.advance(Math.min(remainingMs, 500));
      for (let turn = 0; turn < 20; turn += 1) await eventLoopTurn();
    }
  };
  const end = async () => {
    stop.abort();
    await advance(1000);
    await Promise.all(running);
  };
  t.teardown(end);
  const ip = '192.0.2.1';
  const publish = (spec: Partial<Service['spec']> = {}) =>
    api.seed<Service>(services, {
      metadata: { name: 'x', namespace: 'n', annotations: { 'bare-metal.orch.io/addresses': ip } },
      spec: { type: 'LoadBalancer', ports: [{ port: 80, targetPort: 80 }], ...spec },
      status: { loadBalancer: { ingress: [{ ip }] } },
    });
  const setReady = (status: string) =>
    api.change<Node>(nodes, 'a', (node) => {
      node.status = { conditions: [{ type: 'Ready', status }] };
    });
  await advance(1000);
  return { api, machine, advance, end, publish, setReady, ip };
}

t.test('an address stays as long as the node is selected', async (t) => {
  const { api, machine, advance, publish, setReady, ip } = await start(t);
  publish();
  await advance(1000);
  t.same(machine.present, [ip]);
  await advance(10_000);
  t.same(machine.announced, [ip, ip, ip], 'announcements are repeated');
  await advance(300_000);
  t.same(machine.present, [ip], 'it is prolonged');
  t.equal(machine.announced.length, 3);
  setReady('Unknown');
  await advance(1000);
  t.same(machine.present, []);
  setReady('True');
  await advance(10_000);
  t.same([machine.present, machine.announced.length], [[ip], 6]);
  machine.addresses.clear();
  await advance(15_000);
  t.same([machine.present, machine.announced.length], [[ip], 9], 'removed by another process');
  api.remove(services, 'n/x');
  await advance(1000);
  t.same(machine.present, []);
});

t.test('with externalTrafficPolicy Local only a node with endpoints is selected', async (t) => {
  const { api, machine, advance, publish, ip } = await start(t);
  publish({ externalTrafficPolicy: 'Local' });
  await advance(1000);
  t.same(machine.present, []);
  const endpoint = (nodeName: string, ready: boolean) => ({
    addresses: ['10.0.0.1'],
    nodeName,
    conditions: { ready, serving: true, terminating: !ready },
  });
  api.seed<EndpointSlice>(endpointslices, {
    metadata: { name: 'x-1', namespace: 'n', labels: { [dialect.labels.serviceName]: 'x' } },
    addressType: 'IPv4',
    endpoints: [endpoint('b', true), endpoint('a', false)],
    ports: [],
  });
  await advance(1000);
  t.same(machine.present, [], 'on another node, or about to end');
  api.change<EndpointSlice>(endpointslices, 'n/x-1', (slice) => {
    slice.endpoints = [endpoint('a', true)];
  });
  await advance(1000);
  t.same(machine.present, [ip]);
});

t.test('failures are retried', async (t) => {
  const { api, machine, advance, publish, ip } = await start(t);
  machine.failing = true;
  publish();
  await advance(20_000);
  machine.failing = false;
  await advance(11_000);
  t.same(machine.present, [ip]);
  machine.failing = true;
  api.remove(services, 'n/x');
  await advance(1000);
  machine.failing = false;
  await advance(11_000);
  t.same(machine.present, []);
});

t.test('addresses of a terminated agent expire', async (t) => {
  const { machine, advance, end, publish, ip } = await start(t);
  publish();
  await advance(1000);
  await end();
  t.same(machine.present, [ip], 'a restart is no interruption');
  await advance(40_000);
  t.same(machine.present, []);
});
