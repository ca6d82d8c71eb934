import t, { type Test } from 'tap';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import { configmaps, pods, resourcequotas } from '#api/core/v1/resources.gen.js';
import type { ConfigMap, Pod, ResourceQuota, ResourceQuotaStatus } from '#api/core/v1/types.gen.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { lowersUsage, planQuota, ResourceQuotaController } from '#controllers/resourcequota/controller.js';

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
  /** Creates an object and charges the quota in one step, as the API server does. */
  const charge = (name: string) => {
    api.change<ResourceQuota>(resourcequotas, key, ({ status }) => {
      if (status?.used !== undefined) status.used['configmaps'] = String(Number(status.used['configmaps']) + 1);
    });
    map(name);
  };
  const writes = () => api.calls.filter(({ verb, resource }) => verb === 'update' && resource === 'resourcequotas');
  return { harness, controller, api, map, status, quota, charge, writes };
}

t.test('counts existing objects, and lowers the usage after deletions', async (t) => {
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
  t.equal(writes().length, before, 'the servers count creations');
  api.remove(configmaps, `${namespace}/a`);
  await harness.settled();
  t.match(status(), { used: { configmaps: '2' } });
  map('d');
  await harness.advance(syncPeriodMs);
  t.match(status(), { used: { configmaps: '3' } }, 'recounts periodically');
  const last = writes().length;
  await harness.advance(syncPeriodMs);
  t.equal(writes().length, last, 'does not write an unchanged status');
});

t.test('finished pods lower the usage', async (t) => {
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

t.test('a lagging cache never lowers the usage too far', async (t) => {
  const { harness, controller, api, map, status, quota, charge } = setUp(t);
  map('a');
  map('b');
  quota({ configmaps: '5' });
  await harness.start(controller());
  await harness.advance(10_000);
  t.match(status(), { used: { configmaps: '2' } });
  const thaw = harness.freeze('configmaps');
  // The quota's new limit causes a count while the cache lacks the objects.
  charge('c');
  charge('d');
  api.change<ResourceQuota>(resourcequotas, key, ({ spec }) => {
    spec.hard = { configmaps: '6' };
  });
  await harness.advance(100);
  t.equal(Number(status()?.used?.['configmaps']), 4, 'unseen objects still count');
  thaw();
  await harness.advance(60_000);
  t.match(status(), { hard: { configmaps: '6' }, used: { configmaps: '4' } });
  api.remove(configmaps, `${namespace}/a`);
  await harness.advance(1000);
  t.match(status(), { used: { configmaps: '3' } });
});

t.test('a quota that is charged during the count is counted again', async (t) => {
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

type Amounts = Readonly<Record<string, string>>;
const quota = (hard: Amounts, status?: ResourceQuotaStatus): ResourceQuota => ({
  metadata: { name: 'q' },
  spec: { hard },
  ...(status && { status }),
});

t.test('the status has the usage of limited names', (t) => {
  const rows: [what: string, quota: ResourceQuota, usage: Amounts, expected: unknown][] = [
    [
      'new',
      quota({ pods: '2' }),
      { pods: '1' },
      { status: { hard: { pods: '2' }, used: { pods: '1' } }, hasNewNames: true },
    ],
    [
      'right',
      quota({ pods: '2' }, { hard: { pods: '2' }, used: { pods: '1' } }),
      { pods: '1' },
      { hasNewNames: false },
    ],
    [
      'equal amounts in another notation',
      quota({ cpu: '1' }, { hard: { cpu: '1' }, used: { cpu: '500m' } }),
      { cpu: '0.5' },
      { hasNewNames: false },
    ],
    [
      'less',
      quota({ pods: '2' }, { hard: { pods: '2' }, used: { pods: '2' } }),
      { pods: '1' },
      { status: { hard: { pods: '2' }, used: { pods: '1' } }, hasNewNames: false },
    ],
    [
      'another limit',
      quota({ pods: '3' }, { hard: { pods: '2' }, used: { pods: '2' } }),
      { pods: '2' },
      { status: { hard: { pods: '3' }, used: { pods: '2' } }, hasNewNames: false },
    ],
    [
      'a limit more, and one less',
      quota({ secrets: '3' }, { hard: { pods: '2' }, used: { pods: '2' } }),
      { secrets: '0' },
      { status: { hard: { secrets: '3' }, used: { secrets: '0' } }, hasNewNames: true },
    ],
    [
      'uncounted names keep their usage, or have none',
      quota({ pods: '3', 'count/odd': '1' }, { hard: { pods: '2' }, used: { pods: '2' } }),
      {},
      { status: { hard: { pods: '3', 'count/odd': '1' }, used: { pods: '2' } }, hasNewNames: false },
    ],
    ['nothing limited', quota({}), {}, { status: { hard: {}, used: {} }, hasNewNames: false }],
  ];
  for (const [what, observed, usage, expected] of rows) t.same(planQuota(observed, usage), expected, what);
  t.end();
});

t.test('only a lower amount of a limited name lowers the usage', (t) => {
  const observed = quota({ pods: '3' }, { hard: { pods: '3' }, used: { pods: '2' } });
  t.equal(lowersUsage(observed, { pods: '1' }), true);
  t.equal(lowersUsage(observed, { pods: '2' }), false);
  t.equal(lowersUsage(observed, { pods: '3' }), false);
  t.equal(lowersUsage(observed, { secrets: '3' }), true, 'a name without usage');
  t.end();
});
