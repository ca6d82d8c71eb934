import t, { type Test } from 'tap';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import { configmaps, pods, resourcequotas } from '#api/core/v1/resources.gen.js';
import type { ConfigMap, Pod, ResourceQuota } from '#api/core/v1/types.gen.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { ResourceQuotaController } from '#controllers/resourcequota/controller.js';

const namespace = 'ns';
const key = `${namespace}/q`;
const syncPeriodMs = 300_000;

function setUp(t: Test) {
  const harness = new Harness(t, [resourcequotas, configmaps, pods, customresourcedefinitions, apiservices]);
  const controller = () => new ResourceQuotaController(harness.context, { concurrency: 5, syncPeriodMs });
  const { api } = harness;
  const map = (name: string) => api.seed<ConfigMap>(configmaps, { metadata: { name, namespace } });
  const status = () => api.get<ResourceQuota>(resourcequotas, key)?.status;
  const quota = (hard: Record<string, string>) =>
    api.seed<ResourceQuota>(resourcequotas, { metadata: { name: 'q', namespace }, spec: { hard } });
  /** As the API server does it: the object and what it takes at once. */
  const charge = (name: string) => {
    api.change<ResourceQuota>(resourcequotas, key, ({ status }) => {
      if (status?.used !== undefined) status.used['configmaps'] = String(Number(status.used['configmaps']) + 1);
    });
    map(name);
  };
  const writes = () => api.calls.filter(({ verb, resource }) => verb === 'update' && resource === 'resourcequotas');
  return { harness, controller, api, map, status, quota, charge, writes };
}

t.test('counts what there is, and gives back what goes away', async (t) => {
  const { harness, controller, api, map, status, quota, writes } = setUp(t);
  map('a');
  map('b');
  api.seed<ConfigMap>(configmaps, { metadata: { name: 'a', namespace: 'other' } });
  quota({ configmaps: '5', 'count/configmaps': '6', 'count/unknown.example.com': '1' });
  await harness.start(controller());
  const hard = { configmaps: '5', 'count/configmaps': '6', 'count/unknown.example.com': '1' };
  t.same(status(), { hard, used: { configmaps: '2', 'count/configmaps': '2' } });
  const before = writes().length;
  map('c');
  await harness.settled();
  t.equal(writes().length, before, 'creations are counted by the servers');
  api.remove(configmaps, `${namespace}/a`);
  await harness.settled();
  t.match(status(), { used: { configmaps: '2' } });
  map('d');
  await harness.advance(syncPeriodMs);
  t.match(status(), { used: { configmaps: '3' } }, 'counts all anew from time to time');
  const last = writes().length;
  await harness.advance(syncPeriodMs);
  t.equal(writes().length, last, 'writes nothing that is there already');
});

t.test('pods give back what they take when they are over', async (t) => {
  const { harness, controller, api, status, quota } = setUp(t);
  const spec = { containers: [{ name: 'c', resources: { requests: { cpu: '300m' } } }] };
  for (const name of ['a', 'b']) api.seed<Pod>(pods, { metadata: { name, namespace }, spec });
  quota({ pods: '5', 'requests.cpu': '1', 'count/pods': '9' });
  await harness.start(controller());
  t.match(status(), { used: { pods: '2', 'requests.cpu': '600m', 'count/pods': '2' } });
  api.change<Pod>(pods, `${namespace}/a`, (pod) => {
    pod.status = { phase: 'Succeeded' };
  });
  await harness.settled();
  t.match(status(), { used: { pods: '1', 'requests.cpu': '300m', 'count/pods': '2' } });
});

t.test('a cache that lags behind never gives back what is in use', async (t) => {
  const { harness, controller, api, map, status, quota, charge } = setUp(t);
  map('a');
  map('b');
  quota({ configmaps: '5' });
  await harness.start(controller());
  await harness.advance(10_000);
  t.match(status(), { used: { configmaps: '2' } });
  const thaw = harness.freeze('configmaps');
  // Only the quota is seen to change; its new limit has it counted while the cache misses the objects.
  charge('c');
  charge('d');
  api.change<ResourceQuota>(resourcequotas, key, ({ spec }) => {
    spec.hard = { configmaps: '6' };
  });
  await harness.advance(100);
  t.equal(Number(status()?.used?.['configmaps']), 4, 'what is not seen yet stays taken');
  thaw();
  await harness.advance(60_000);
  t.match(status(), { hard: { configmaps: '6' }, used: { configmaps: '4' } });
  api.remove(configmaps, `${namespace}/a`);
  await harness.advance(1000);
  t.match(status(), { used: { configmaps: '3' } });
});

t.test('a quota that is charged meanwhile is counted again', async (t) => {
  const { harness, controller, api, map, status, quota, charge } = setUp(t);
  for (const name of ['a', 'b', 'c']) map(name);
  quota({ configmaps: '9' });
  await harness.start(controller());
  await harness.advance(10_000);
  let overtaken = 0;
  api.intercept((call) => {
    if (call.verb === 'update' && call.resource === 'resourcequotas' && overtaken < 3) charge(`new-${overtaken++}`);
    return undefined;
  });
  api.remove(configmaps, `${namespace}/a`);
  await harness.advance(5000);
  t.equal(overtaken, 3);
  t.match(status(), { used: { configmaps: '5' } });
});
