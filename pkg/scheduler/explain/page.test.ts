import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import { noObjects } from '#scheduler/cluster/objects.js';
import type { Explanation } from '#scheduler/explain/explanation.js';
import { explainPages, type SchedulerView } from '#scheduler/explain/page.js';
import { defaultProfile } from '#scheduler/plugins/profiles.js';

const profile = defaultProfile(dialect);
const pod: Pod = {
  metadata: { namespace: 'default', name: 'p', uid: 'p' },
  spec: { schedulerName: profile.schedulerName, containers: [{ name: 'main', image: 'web' }] },
};
const nodes = Array.from({ length: 5000 }, (_, i) => ({
  metadata: { name: `n${String(i).padStart(4, '0')}` },
  spec: { unschedulable: true },
  status: { allocatable: { cpu: '4', memory: '8Gi', pods: '10' } },
}));
const leading: SchedulerView = {
  pods: () => [pod],
  pod: (key) => (key === 'default/p' ? pod : undefined),
  snapshot: () => ({ nodes, placed: [], nominated: [], objects: noObjects }),
};

let view: SchedulerView | undefined = leading;
const pages = explainPages({ view: () => view, dialect, clock: realClock, profiles: [profile] });
const endpoints = new DebugEndpoints({ argv: [], pages });

async function get(query: string, method = 'GET') {
  const response = await endpoints.respond({
    method,
    path: '/debug/scheduler/explain',
    query: new URLSearchParams(query),
    accept: '',
    body: async () => '',
    signal: new AbortController().signal,
  });
  return { status: response?.status, body: response?.body.toString() ?? '' };
}

t.test('the page is bounded, whatever the size of the cluster', async (t) => {
  const { body, status } = await get('pod=default/p');
  t.equal(status, 200);
  const explanation = JSON.parse(body) as Explanation;
  t.match(explanation, {
    outcome: 'FitsNowhere',
    nodes: { total: 5000, fitting: 0 },
    refused: [{ plugin: 'NodeUnschedulable', nodes: 5000 }],
  });
  t.equal(explanation.refused[0]?.examples.length, 5);
  t.ok(body.length < 10_000, `${body.length} bytes`);
});

t.test('pages through the nodes', async (t) => {
  const first = JSON.parse((await get('pod=default/p&limit=2')).body) as Explanation;
  t.same(
    first.details?.items.map(({ node }) => node),
    ['n0000', 'n0001'],
  );
  t.equal(first.details?.continue, 'n0001');
  const second = JSON.parse((await get('pod=default/p&limit=2&continue=n0001')).body) as Explanation;
  t.same(
    second.details?.items.map(({ node }) => node),
    ['n0002', 'n0003'],
  );
  const one = JSON.parse((await get('pod=default/p&node=n4999')).body) as Explanation;
  t.match(one.details, { items: [{ node: 'n4999', plugin: 'NodeUnschedulable' }] });
});

t.test('returns plain errors', async (t) => {
  t.same(await get(''), { status: 400, body: 'pod must be NAMESPACE/NAME\n' });
  t.same(await get('pod=p'), { status: 400, body: 'pod must be NAMESPACE/NAME\n' });
  t.same(await get('pod=default/p&limit=x'), { status: 400, body: 'limit must be a number from 0 to 500\n' });
  t.same(await get('pod=default/p&all=1'), { status: 400, body: 'unknown parameter "all"\n' });
  t.same(await get('pod=default/q'), { status: 404, body: 'pods "default/q" not found\n' });
  t.equal((await get('pod=default/p', 'PUT')).status, 405);
  const both = await Promise.all([get('pod=default/p'), get('pod=default/p')]);
  t.same(both.map(({ status }) => status).sort(), [200, 429]);
  view = undefined;
  t.same(await get('pod=default/p'), { status: 503, body: 'this scheduler does not lead\n' });
});
