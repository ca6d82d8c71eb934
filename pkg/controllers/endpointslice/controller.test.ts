import t, { type Test } from 'tap';
import { endpoints, nodes, pods, services } from '#api/core/v1/resources.gen.js';
import type { Endpoints, Node, Pod, Service } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import { EndpointController } from '#controllers/endpoint/controller.js';
import { EndpointSliceController } from '#controllers/endpointslice/controller.js';
import { Harness } from '#controllers/framework/testing/harness.js';

const namespace = 'default';

function setUp(t: Test) {
  const harness = new Harness(t, [services, pods, nodes, endpoints, endpointslices]);
  const { api, context } = harness;
  api.seed<Node>(nodes, { metadata: { name: 'n1' }, spec: {} });
  api.seed<Service>(services, {
    metadata: { name: 'web', namespace },
    spec: { clusterIP: '10.96.0.1', selector: { app: 'web' }, ports: [{ port: 80 }] },
  });
  let sequence = 0;
  const addPod = () => {
    sequence += 1;
    const ip = `10.1.0.${sequence}`;
    return api.seed<Pod>(pods, {
      metadata: { name: `p${sequence}`, namespace, labels: { app: 'web' } },
      spec: { containers: [], nodeName: 'n1' },
      status: { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions: [{ type: 'Ready', status: 'True' }] },
    });
  };
  const setReady = (name: string, status: string) =>
    api.change<Pod>(pods, `${namespace}/${name}`, (pod) => {
      pod.status = { ...pod.status, conditions: [{ type: 'Ready', status }] };
    });
  const sliceAddresses = () =>
    api
      .list(endpointslices)
      .map((slice) => slice.endpoints.map((e) => `${e.addresses[0]}${e.conditions?.ready === true ? '' : '!'}`));
  const addresses = () =>
    api.get<Endpoints>(endpoints, `${namespace}/web`)?.subsets?.[0]?.addresses?.map(({ ip }) => ip);
  const start = (batchPeriodMs = 0) =>
    harness.start(
      new EndpointController(context, { concurrency: 2, batchPeriodMs }),
      new EndpointSliceController(context, { concurrency: 2, batchPeriodMs, maxEndpointsPerSlice: 2 }),
    );
  return { harness, api, addPod, setReady, sliceAddresses, addresses, start };
}

t.test('endpoints follow pods', async (t) => {
  const { harness, api, addPod, setReady, sliceAddresses, addresses, start } = setUp(t);
  addPod();
  await start();
  t.same(sliceAddresses(), [['10.1.0.1']]);
  t.match(api.list(endpointslices)[0], {
    metadata: {
      ownerReferences: [{ kind: 'Service', name: 'web', controller: true }],
      labels: { 'orch.io/service-name': 'web' },
    },
  });
  addPod();
  addPod();
  await harness.settled();
  t.same(sliceAddresses().flat().sort(), ['10.1.0.1', '10.1.0.2', '10.1.0.3']);
  t.same(addresses(), ['10.1.0.1', '10.1.0.2', '10.1.0.3']);
  setReady('p1', 'False');
  await harness.settled();
  t.ok(sliceAddresses().flat().includes('10.1.0.1!'));
  t.same(addresses(), ['10.1.0.2', '10.1.0.3']);
  api.takeWrites();
  api.change<Pod>(pods, `${namespace}/p2`, (pod) => {
    pod.metadata.annotations = { irrelevant: 'yes' };
  });
  await harness.advance(600_000);
  t.same(api.takeWrites(), []);
  api.change<Node>(nodes, 'n1', (node) => {
    node.metadata.labels = { 'topology.orch.io/zone': 'z1' };
  });
  await harness.settled();
  t.ok(api.list(endpointslices).every((slice) => slice.endpoints.every((each) => each.zone === 'z1')));
});

t.test('a lagging cache causes no second slice', async (t) => {
  const { harness, api, addPod, sliceAddresses, start } = setUp(t);
  await start();
  const heal = harness.freeze('endpointslices');
  for (let i = 0; i < 5; i += 1) {
    addPod();
    await harness.advance(1000);
  }
  heal();
  await harness.advance(60_000);
  t.same(sliceAddresses().flat().sort(), ['10.1.0.1', '10.1.0.2', '10.1.0.3', '10.1.0.4', '10.1.0.5']);
  t.equal(api.list(endpointslices).length, 3);
});

t.test('a lost response causes no second slice', async (t) => {
  const { harness, api, addPod, sliceAddresses, start } = setUp(t);
  await start();
  const seen = harness.freeze('endpointslices');
  let creations = 0;
  api.intercept(({ verb, resource, body }) => {
    if (verb !== 'create' || resource !== 'endpointslices') return undefined;
    creations += 1;
    if (creations > 1) return undefined;
    const slice = body as EndpointSlice;
    api.seed<EndpointSlice>(endpointslices, { ...slice, metadata: { ...slice.metadata, name: 'web-lost' } });
    return serviceUnavailable('down');
  });
  addPod();
  await harness.advance(30_000);
  t.equal(creations, 1);
  seen();
  await harness.advance(60_000);
  t.equal(creations, 1);
  t.same(sliceAddresses(), [['10.1.0.1']]);
});

t.test('failures are recorded and retried', async (t) => {
  const { harness, addPod, sliceAddresses, addresses, start } = setUp(t);
  const heal = harness.fail((call) => call.verb === 'create', serviceUnavailable('down'));
  addPod();
  await start();
  await harness.advance(30_000);
  heal();
  await harness.advance(60_000);
  t.same(sliceAddresses(), [['10.1.0.1']]);
  t.same(addresses(), ['10.1.0.1']);
  t.ok(harness.events.some((event) => event.startsWith('Warning FailedToUpdateEndpointSlices web')));
  t.ok(harness.events.some((event) => event.startsWith('Warning FailedToCreateEndpoint web')));
});

t.test('a batch period combines changes', async (t) => {
  const { harness, api, addPod, sliceAddresses, start } = setUp(t);
  await start(1000);
  await harness.advance(2000);
  api.takeWrites();
  addPod();
  await harness.advance(500);
  addPod();
  await harness.advance(400);
  t.same(api.takeWrites(), []);
  await harness.advance(2000);
  t.same(sliceAddresses(), [['10.1.0.1', '10.1.0.2']]);
});

t.test('Endpoints without a service are deleted, unless they are a lock', async (t) => {
  const { harness, api, start } = setUp(t);
  api.seed<Endpoints>(endpoints, { metadata: { name: 'left', namespace } });
  api.seed<Endpoints>(endpoints, {
    metadata: { name: 'lock', namespace, annotations: { 'control-plane.alpha.orch.io/leader': '{}' } },
  });
  api.seed<Service>(services, { metadata: { name: 'manual', namespace }, spec: { ports: [{ port: 1 }] } });
  api.seed<Endpoints>(endpoints, { metadata: { name: 'manual', namespace } });
  await start();
  t.same(
    api
      .list(endpoints)
      .map(({ metadata }) => metadata.name)
      .sort(),
    ['lock', 'manual', 'web'],
  );
  api.remove(services, `${namespace}/web`);
  await harness.settled();
  t.same(
    api
      .list(endpoints)
      .map(({ metadata }) => metadata.name)
      .sort(),
    ['lock', 'manual'],
  );
});

t.test('Endpoints that a user creates without a service stay', async (t) => {
  const { harness, api, start } = setUp(t);
  await start();
  const subsets = [{ addresses: [{ ip: '10.2.0.1' }], ports: [{ port: 80 }] }];
  api.seed<Endpoints>(endpoints, { metadata: { name: 'own', namespace }, subsets });
  await harness.settled();
  api.change<Endpoints>(endpoints, `${namespace}/own`, (object) => {
    object.metadata.labels = { changed: 'yes' };
  });
  await harness.advance(60_000);
  t.match(api.get<Endpoints>(endpoints, `${namespace}/own`), { metadata: { labels: { changed: 'yes' } }, subsets });
  // Endpoints of a service are recreated.
  api.remove(endpoints, `${namespace}/web`);
  await harness.settled();
  t.ok(api.get<Endpoints>(endpoints, `${namespace}/web`));
});
