import t, { type Test } from 'tap';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { conflict } from '#apimachinery/errors/status.js';
import { parseCIDR } from '#apimachinery/net/ip.js';
import type { Route, Routes } from '#cloud/provider/provider.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { planRoutes, RouteController } from '#controllers/route/controller.js';

class Table implements Routes {
  routes: Route[];
  failing: Error | undefined;
  creations = 0;

  constructor(routes: Route[] = []) {
    this.routes = routes;
  }

  async list() {
    return this.routes;
  }

  async create(_: string, nameHint: string, route: Omit<Route, 'name'>) {
    this.creations += 1;
    if (this.failing !== undefined) throw this.failing;
    this.routes = [...this.routes, { name: nameHint, ...route }];
  }

  async delete(_: string, route: Route) {
    this.routes = this.routes.filter((each) => each !== route);
  }
}

const node = (name: string, ...podCIDRs: string[]): Node => ({
  metadata: { name, uid: `uid-${name}` },
  spec: { podCIDRs },
});
const ranges = ['10.0.0.0/8', 'fd00::/48'].flatMap((text) => parseCIDR(text) ?? []);

async function start(t: Test, table: Table, ...given: Node[]) {
  const harness = new Harness(t, [nodes]);
  for (const each of given) harness.api.seed(nodes, each);
  const options = { routes: table, cluster: 'c', clusterRanges: ranges, periodMs: 10_000 };
  await harness.start(new RouteController(harness.context, options));
  const condition = (name: string) => {
    const [first] = harness.api.get(nodes, name)?.status?.conditions ?? [];
    return first && `${first.type}=${first.status} ${first.reason}: ${first.message}`;
  };
  return { harness, condition };
}

const routed = 'NetworkUnavailable=False RouteCreated: RouteController created a route';
const missed = 'NetworkUnavailable=True NoRouteCreated: RouteController failed to create a route';

t.test('routes follow nodes', async (t) => {
  const table = new Table([{ name: 'old', targetNode: 'gone', destinationCIDR: '10.0.9.0/24' }]);
  const { harness, condition } = await start(t, table, node('a', '10.0.0.0/24', 'fd00::/64'), node('b'));
  t.same(table.routes, [
    { name: 'uid-a', targetNode: 'a', destinationCIDR: '10.0.0.0/24' },
    { name: 'uid-a', targetNode: 'a', destinationCIDR: 'fd00::/64' },
  ]);
  t.same([condition('a'), condition('b')], [routed, missed]);
  harness.api.takeWrites();
  await harness.advance(30_000);
  t.same(harness.api.takeWrites(), [], 'an unchanged condition is not written');
  harness.api.remove(nodes, 'a');
  await harness.advance(10_000);
  t.same(table.routes, []);
});

t.test('a route that cannot be created is reported and retried', async (t) => {
  const table = new Table();
  table.failing = new Error('full');
  const { harness, condition } = await start(t, table, node('a', '10.0.0.0/24'));
  t.equal(condition('a'), missed);
  t.same(harness.events, [
    'Warning FailedToCreateRoute a: Could not create route uid-a 10.0.0.0/24 for node a after 0s: full',
  ]);
  table.failing = undefined;
  await harness.advance(10_000);
  t.equal(condition('a'), routed);
  table.failing = conflict({ group: '', resource: 'routes' }, 'x', 'x');
  table.creations = 0;
  harness.api.seed(nodes, node('b', '10.0.1.0/24'));
  await harness.advance(12_000);
  t.equal(table.creations, 5, 'conflicts are retried');
});

t.test('routes outside of the cluster ranges are ignored', async (t) => {
  const route = (destinationCIDR: string, rest: Partial<Route> = {}): Route => ({
    name: 'r',
    targetNode: 'a',
    destinationCIDR,
    ...rest,
  });
  const rows: [Route, boolean][] = [
    [route('10.0.0.0/24'), false],
    [route('10.0.1.0/24'), true],
    [route('10.0.0.0/24', { blackhole: true }), true],
    [route('10.0.0.0/24', { targetNode: '' }), true],
    [route('192.0.2.0/24'), false],
    [route('x'), false],
  ];
  for (const [given, want] of rows) {
    const { deletes } = planRoutes([node('a', '10.0.0.0/24')], [given], ranges);
    t.equal(deletes.length === 1, want, JSON.stringify(given));
  }
});
