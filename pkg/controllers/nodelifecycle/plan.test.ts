import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import type { Node, Pod, Toleration } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import {
  graceEndMs,
  observeHealth,
  observeRenewal,
  type Readiness,
  unknownConditions,
} from '#controllers/nodelifecycle/health.js';
import { planEviction } from '#controllers/nodelifecycle/taint-manager.js';
import { type Eviction, planTaints } from '#controllers/nodelifecycle/taints.js';
import { evictionRate, Zones, zoneState } from '#controllers/nodelifecycle/zones.js';

const now = Date.parse('2022-05-03T12:00:00Z');

function node(
  conditions: Record<string, string>,
  more: Partial<Node['spec']> = {},
  heartbeat = '2022-05-03T11:59:50Z',
): Node {
  return {
    metadata: { name: 'n1', creationTimestamp: '2022-05-03T11:00:00Z' },
    spec: more,
    status: {
      conditions: Object.entries(conditions).map(([type, status]) => ({
        type,
        status,
        lastHeartbeatTime: heartbeat,
        lastTransitionTime: '2022-05-03T11:00:00Z',
      })),
    },
  };
}

t.test('a heartbeat is a renewed lease or a new report', (t) => {
  const grace = { runningMs: 40_000, startupMs: 60_000 };
  const lease = (renewTime: string) => ({ metadata: {}, spec: { renewTime } });
  /** The monotonic clock is at a million. */
  const at = (ms: number) => ({ wallMs: now + ms, monotonicMs: 1_000_000 + ms });
  const first = observeHealth(undefined, node({ Ready: 'True' }), undefined, at(0));
  t.equal(
    graceEndMs(first, node({ Ready: 'True' }), grace),
    1_040_000,
    'the grace period of a reporting node starts now',
  );
  t.equal(observeHealth(first, node({ Ready: 'True' }), undefined, at(1000)), first, 'no new heartbeat');
  t.equal(
    observeHealth(first, node({ Ready: 'True' }, {}, '2022-05-03T12:00:01Z'), undefined, at(1000)).seenMs,
    1_001_000,
  );
  const renewed = observeHealth(first, node({ Ready: 'True' }), lease('a'), at(2000));
  t.equal(renewed.seenMs, 1_002_000);
  t.equal(observeHealth(renewed, node({ Ready: 'True' }), lease('a'), at(3000)), renewed);
  t.equal(
    observeHealth(renewed, node({ Ready: 'True' }), undefined, at(3000)),
    renewed,
    'a missing lease is not a heartbeat',
  );
  t.equal(observeRenewal(renewed, lease('a'), 1_003_000), renewed, 'the lease alone');
  t.equal(observeRenewal(renewed, { metadata: {}, spec: {} }, 1_003_000), renewed);
  t.same(observeRenewal(renewed, lease('b'), 1_003_000), { ...renewed, seenMs: 1_003_000, renewal: 'b' });
  const mute = observeHealth(undefined, node({}), undefined, at(0));
  t.equal(
    graceEndMs(mute, node({}), grace),
    1_000_000 + Date.parse('2022-05-03T11:01:00Z') - now,
    'the grace period of a node that never reported starts at its creation',
  );
  t.end();
});

t.test('conditions become unknown when a node stops reporting', (t) => {
  const silent = unknownConditions(
    dialect,
    node({ Ready: 'True', DiskPressure: 'False', NetworkUnavailable: 'False' }),
    now,
  );
  t.match(silent, [
    {
      type: 'Ready',
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
      message: 'Nodeagent stopped posting node status.',
    },
    { type: 'DiskPressure', status: 'Unknown', lastHeartbeatTime: '2022-05-03T11:59:50Z' },
    { type: 'NetworkUnavailable', status: 'False' },
    { type: 'MemoryPressure', status: 'Unknown', reason: 'NodeStatusNeverUpdated' },
    { type: 'PIDPressure', status: 'Unknown' },
  ]);
  t.equal(unknownConditions(kubernetesDialect, node({}), now)?.[0]?.message, 'Kubelet never posted node status.');
  const all = { Ready: 'Unknown', MemoryPressure: 'Unknown', DiskPressure: 'Unknown', PIDPressure: 'Unknown' };
  t.equal(unknownConditions(dialect, node(all), now), undefined);
  t.end();
});

t.test('taints follow the conditions', (t) => {
  const { notReady, unreachable, memoryPressure, unschedulable } = dialect.taints;
  const taint = (key: string, effect: string) => ({ key, effect });
  const rows: [string, Node, Eviction, string[] | undefined][] = [
    ['ready', node({ Ready: 'True' }), 'allowed', undefined],
    ['not reported yet', node({}), 'allowed', undefined],
    ['not ready', node({ Ready: 'False' }), 'allowed', [`${notReady} NoSchedule`, `${notReady} NoExecute`]],
    ['not ready, wait', node({ Ready: 'False' }), 'wait', [`${notReady} NoSchedule`]],
    ['silent', node({ Ready: 'Unknown' }), 'allowed', [`${unreachable} NoSchedule`, `${unreachable} NoExecute`]],
    ['pressure', node({ Ready: 'True', MemoryPressure: 'True' }), 'wait', [`${memoryPressure} NoSchedule`]],
    ['cordoned', node({ Ready: 'True' }, { unschedulable: true }), 'wait', [`${unschedulable} NoSchedule`]],
    [
      'ready again; others stay',
      node(
        { Ready: 'True' },
        { taints: [taint(notReady, 'NoSchedule'), taint(unreachable, 'NoExecute'), taint('mine', 'NoSchedule')] },
      ),
      'wait',
      ['mine NoSchedule'],
    ],
    [
      'an eviction continues when the node stops reporting',
      node({ Ready: 'Unknown' }, { taints: [taint(notReady, 'NoExecute'), taint(notReady, 'NoSchedule')] }),
      'wait',
      [`${unreachable} NoSchedule`, `${unreachable} NoExecute`],
    ],
    [
      'no node reports: nothing is evicted',
      node({ Ready: 'Unknown' }, { taints: [taint(unreachable, 'NoExecute'), taint(unreachable, 'NoSchedule')] }),
      'suspended',
      [`${unreachable} NoSchedule`],
    ],
  ];
  for (const [name, object, eviction, want] of rows) {
    const taints = planTaints(dialect, object, eviction, now);
    t.strictSame(
      taints?.map(({ key, effect }) => `${key} ${effect}`),
      want,
      name,
    );
  }
  t.equal(planTaints(dialect, node({ Ready: 'False' }), 'wait', now)?.[0]?.timeAdded, '2022-05-03T12:00:00Z');
  t.end();
});

t.test('zones count their nodes correctly after every change', (t) => {
  const options = { evictionRate: 0.1, secondaryEvictionRate: 0.01, largeClusterSize: 50, unhealthyThreshold: 0.55 };
  const zones = new Zones(options);
  const nodes = new Map<string, { zone: string; readiness: Readiness }>();
  const random = seededRandom(7);
  const any = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  for (let step = 0; step < 2000; step += 1) {
    const name = `n${Math.floor(random() * 20)}`;
    if (random() < 0.2) {
      zones.remove(name);
      nodes.delete(name);
    } else {
      const [zone, readiness] = [any(['a', 'b', 'c']), any<Readiness>(['True', 'False', 'Unknown'])];
      zones.set(name, zone, readiness);
      nodes.set(name, { zone, readiness });
    }
    const sizes = new Map<string, { name: string; size: number; notReady: number }>();
    for (const { zone, readiness } of nodes.values()) {
      const { size, notReady } = sizes.get(zone) ?? { size: 0, notReady: 0 };
      sizes.set(zone, { name: zone, size: size + 1, notReady: notReady + (readiness === 'True' ? 0 : 1) });
    }
    const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name);
    const [actual, expected] = [zones.sizes().sort(byName), [...sizes.values()].sort(byName)];
    if (!isDeepStrictEqual(actual, expected)) t.same(actual, expected, `step ${step}`);
  }
  t.end();
});

t.test('the state of a zone decides its eviction rate', (t) => {
  const list = (ready: number, notReady: number) => ({ size: ready + notReady, notReady });
  t.equal(zoneState(list(3, 0), 0.55), 'normal');
  t.equal(zoneState(list(1, 2), 0.55), 'normal', 'two nodes are too few');
  t.equal(zoneState(list(2, 3), 0.55), 'partialDisruption');
  t.equal(zoneState(list(3, 3), 0.55), 'normal');
  t.equal(zoneState(list(0, 1), 0.55), 'fullDisruption');
  t.equal(zoneState(list(0, 0), 0.55), 'normal');
  const options = { evictionRate: 0.1, secondaryEvictionRate: 0.01, largeClusterSize: 50, unhealthyThreshold: 0.55 };
  t.equal(evictionRate('normal', 10, options), 0.1);
  t.equal(evictionRate('partialDisruption', 50, options), 0);
  t.equal(evictionRate('partialDisruption', 51, options), 0.01);
  t.equal(evictionRate('fullDisruption', 3, options), 0.1);

  const zones = new Zones(options);
  zones.set('a1', 'a', 'True');
  t.same(zones.set('b1', 'b', 'True'), []);
  t.same(zones.requestEviction('b1', 0), { kind: 'allowed' });
  zones.set('b2', 'b', 'True');
  t.same(zones.requestEviction('b2', 4000), { kind: 'wait', ms: 6000 }, 'one node in ten seconds');
  t.same(zones.requestEviction('a1', 4000), { kind: 'allowed' }, 'each zone has its own rate');
  t.same(zones.set('a1', 'a', 'Unknown'), ['a1']);
  zones.set('b1', 'b', 'Unknown');
  t.equal(zones.allDisrupted, false);
  t.same([...zones.set('b2', 'b', 'Unknown')].sort(), ['a1', 'b1', 'b2']);
  t.equal(zones.allDisrupted, true);
  t.same(zones.requestEviction('a1', 1e9), { kind: 'refused' });
  t.same([...zones.set('b2', 'b', 'True')].sort(), ['a1', 'b1', 'b2']);
  t.equal(zones.allDisrupted, false);
  zones.remove('a1');
  t.same(zones.requestEviction('a1', 1e9), { kind: 'refused' }, 'a removed node');
  t.end();
});

t.test('pods are evicted when their shortest toleration ends', (t) => {
  const pod = (...tolerations: Toleration[]): Pod => ({ metadata: {}, spec: { containers: [], tolerations } });
  const one = [{ key: 'k', effect: 'NoExecute' }];
  const two = [...one, { key: 'l', effect: 'NoExecute' }];
  const tolerate = (key: string, tolerationSeconds?: number): Toleration => ({
    key,
    operator: 'Exists',
    effect: 'NoExecute',
    ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
  });
  const rows: [string, Pod, typeof one, unknown][] = [
    ['no taints', pod(), [], { kind: 'stay' }],
    ['no toleration', pod(), one, { kind: 'evict', afterMs: 0 }],
    ['tolerated without limit', pod(tolerate('k')), one, { kind: 'stay' }],
    ['tolerated with a limit', pod(tolerate('k', 300)), one, { kind: 'evict', afterMs: 300_000 }],
    ['a toleration for one of two taints', pod(tolerate('k')), two, { kind: 'evict', afterMs: 0 }],
    ['the shortest limit counts', pod(tolerate('k', 300), tolerate('l', 10)), two, { kind: 'evict', afterMs: 10_000 }],
    ['with and without a limit', pod(tolerate('k'), tolerate('l', 10)), two, { kind: 'evict', afterMs: 10_000 }],
    ['a negative limit means zero', pod(tolerate('k', -1)), one, { kind: 'evict', afterMs: 0 }],
  ];
  for (const [name, object, taints, want] of rows) t.strictSame(planEviction(object, taints), want, name);
  t.end();
});
