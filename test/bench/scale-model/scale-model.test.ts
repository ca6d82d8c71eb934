import { test } from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { costsOf, defaultCosts } from '#test/bench/scale-model/costs.js';
import {
  type Activity,
  activities,
  demand,
  followBound,
  largest,
  workersNeeded,
} from '#test/bench/scale-model/load.js';
import { simulate } from '#test/bench/scale-model/simulate.js';

test('costs come from measured rows if present', async (t) => {
  const rows = [
    { name: 'create', figures: { orch: 0.5 } },
    { name: 'create, the first 1000 after a start', figures: { orch: 3 } },
    { name: 'watch, 200 watchers: each delivered event', figures: { orch: 0.02 } },
  ];
  const { costs, measuredNames } = costsOf(rows);
  t.same(costs, { ...defaultCosts, create: 0.5, watchEvent: 0.02 });
  t.same(measuredNames, ['create', 'watchEvent']);
});

test('demand adds up', async (t) => {
  const all: Activity[] = [
    { name: 'writes', perSecond: 100, serveMs: 1, changes: 1, watchers: 10 },
    { name: 'reads', perSecond: 50, serveMs: 2, changes: 0, watchers: 0 },
  ];
  const costs = { ...defaultCosts, watchEvent: 0.1, follow: 0.5 };
  const load = demand(all, costs);
  t.match(load, { requestsPerSecond: 150, changesPerSecond: 100, eventsPerSecond: 1000 });
  const rounded = [load.workerCores, load.followCores].map((cores) => cores.toFixed(3));
  t.same(rounded, ['0.300', '0.050']);
  t.equal(workersNeeded(load), 1);
  t.equal(workersNeeded({ ...load, workerCores: 6.81 }), 11);
  t.equal(workersNeeded({ ...load, followCores: 0.7 }), undefined, 'following uses a whole worker');
  t.equal(followBound(costs), 1400);
});

test('leases go to one node, endpoint slices to all nodes', async (t) => {
  const all = new Map(activities(largest, defaultCosts).map((activity) => [activity.name, activity]));
  t.equal(all.get('leases renewed')?.perSecond, 500);
  t.equal(all.get('endpoint slices')?.watchers, 5001);
});

test('the simulation matches the calculation, and an overloaded thread falls behind', async (t) => {
  const all: Activity[] = [{ name: 'writes', perSecond: 200, serveMs: 4, changes: 1, watchers: 100 }];
  const costs = { ...defaultCosts, watchEvent: 0.01, joinedEvent: 0.01, follow: 1 };
  const run = (workers: number) => simulate({ activities: all, costs, workers, seconds: 20, random: seededRandom(7) });
  const two = run(2);
  t.ok(Math.abs(two.busiestWorker - 0.7) < 0.05, `${two.busiestWorker}`);
  t.ok(two.servedP99Ms > 4 && two.servedP99Ms < 40);
  t.ok(run(1).servedP99Ms > 5 * two.servedP99Ms, 'one worker is fully utilized');
});

test('events for many watchers are batched under load', async (t) => {
  const all: Activity[] = [{ name: 'writes', perSecond: 100, serveMs: 0.1, changes: 1, watchers: 1000 }];
  const run = (joinedEvent: number) => {
    const costs = { ...defaultCosts, watchEvent: 0.02, joinedEvent, follow: 0.1 };
    return simulate({ activities: all, costs, workers: 1, seconds: 20, random: seededRandom(7) });
  };
  t.ok(run(0.02).busiestWorker > 1, 'nothing is batched');
  const joined = run(0.001);
  t.ok(joined.busiestWorker < 0.9, `${joined.busiestWorker}`);
  t.ok(joined.notifiedP99Ms < 200, `${joined.notifiedP99Ms}`);
});
