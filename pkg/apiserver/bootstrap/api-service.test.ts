import t, { type Test } from 'tap';
import { endpoints, services } from '#api/core/v1/resources.gen.js';
import type { Endpoints } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { ApiService } from '#apiserver/bootstrap/api-service.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { MemoryStore } from '#storage/memory/memory-store.js';

const key = `${dialect.namespaces.default}/${dialect.apiServiceName}`;

/** Servers of one cluster, by their addresses. */
async function setUp(t: Test) {
  const clock = new VirtualClock();
  const store = new MemoryStore({ clock });
  const api = new FakeApi({ dialect, clock, resources: [services, endpoints, endpointslices] });
  const stop = new AbortController();
  const running: Promise<void>[] = [];
  t.teardown(async () => {
    stop.abort();
    await Promise.all(running);
    await store.close();
  });
  const start = async (ip: string, runs = true) => {
    const own = new AbortController();
    const options = { client: api.client, store, clock, log, clusterIP: '10.0.0.1', nodePort: 0, leasePrefix: '/l/' };
    const service = new ApiService({ ...options, endpoint: { ip, port: 6443 } });
    await service.ensure(stop.signal);
    if (runs) running.push(service.run(AbortSignal.any([stop.signal, own.signal])));
    return {
      async leave() {
        own.abort();
        await service.leave(stop.signal);
      },
    };
  };
  const addresses = () => {
    const { subsets = [] } = api.get<Endpoints>(endpoints, key) ?? {};
    const slice = api.get<EndpointSlice>(endpointslices, key)?.endpoints.flatMap(({ addresses: ips }) => ips);
    t.same(
      slice,
      subsets[0]?.addresses?.map(({ ip }) => ip),
      'both say the same',
    );
    return slice;
  };
  /** Lets pending work finish that does not wait for the clock. */
  const settled = async () => {
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, start, addresses, settled };
}

t.test('a stopping server removes itself from the endpoints at once', async (t) => {
  const { start, addresses } = await setUp(t);
  const first = await start('10.1.0.1');
  const second = await start('10.1.0.2');
  t.same(addresses(), ['10.1.0.1', '10.1.0.2']);
  await first.leave();
  t.same(addresses(), ['10.1.0.2']);
  await second.leave();
  t.same(addresses(), ['10.1.0.2'], 'the last server stays, for waiting clients');
});

t.test('a dead server is removed when its lease ends', async (t) => {
  const { clock, start, addresses, settled } = await setUp(t);
  await start('10.1.0.1');
  await settled();
  await clock.advance(5_000);
  await start('10.1.0.2', false);
  await clock.advance(14_000);
  await settled();
  t.same(addresses(), ['10.1.0.1', '10.1.0.2']);
  await clock.advance(1_000);
  await settled();
  t.same(addresses(), ['10.1.0.1'], 'removed at once, not at the next renewal of the others');
});
