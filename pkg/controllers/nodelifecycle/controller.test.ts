import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { formatMicroTime, formatTime } from '#apimachinery/clock.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { controllerMetrics } from '#controllers/framework/metrics.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { missingLabels, NodeLifecycleController } from '#controllers/nodelifecycle/controller.js';

function setUp(
  t: Test,
  names: readonly string[],
  patience: { tolerationSeconds?: number } = { tolerationSeconds: 30 },
) {
  const harness = new Harness(t, [nodes, pods, leases]);
  const { api, clock, dialect, context } = harness;
  const registry = new Registry();
  /** By zone. */
  const series = async (name: string) =>
    Object.fromEntries(
      ((await registry.getSingleMetric(`node_collector_${name}`)?.get())?.values ?? []).map(({ labels, value }) => [
        labels['zone'],
        value,
      ]),
    );
  const alive = new Set(names);
  const namespace = dialect.namespaces.nodeLease;
  for (const name of names) {
    const lastHeartbeatTime = formatTime(clock.now());
    const lastTransitionTime = lastHeartbeatTime;
    api.seed<Node>(nodes, {
      metadata: { name },
      spec: {},
      status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime, lastTransitionTime }] },
    });
    api.seed<Lease>(leases, { metadata: { name, namespace }, spec: { renewTime: formatMicroTime(clock.now()) } });
    api.seed<Pod>(pods, {
      metadata: { name: `pod-${name}`, namespace: 'default' },
      spec: { containers: [], nodeName: name, tolerations: [{ operator: 'Exists', effect: 'NoExecute', ...patience }] },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] },
    });
  }
  /** Advances the clock while healthy nodes renew their leases. */
  const pass = async (seconds: number) => {
    for (let left = seconds; left > 0; left -= 10) {
      for (const name of alive) {
        api.change<Lease>(leases, `${namespace}/${name}`, (lease) => {
          lease.spec = { renewTime: formatMicroTime(clock.now()) };
        });
      }
      await harness.advance(Math.min(left, 10) * 1000);
    }
  };
  const ready = (name: string, status: string) =>
    api.change<Node>(nodes, name, (node) => {
      const time = formatTime(clock.now());
      node.status = { conditions: [{ type: 'Ready', status, lastHeartbeatTime: time, lastTransitionTime: time }] };
    });
  const readiness = (name: string) => api.get(nodes, name)?.status?.conditions?.find((c) => c.type === 'Ready')?.status;
  const taints = (name: string) =>
    (api.get(nodes, name)?.spec.taints ?? []).map(({ key, effect }) => `${key} ${effect}`);
  const start = (taintManager = true) =>
    harness.start(
      new NodeLifecycleController(
        { ...context, metrics: controllerMetrics(registry) },
        {
          grace: { runningMs: 40_000, startupMs: 60_000 },
          monitorPeriodMs: 5000,
          zones: { evictionRate: 0.1, secondaryEvictionRate: 0.01, largeClusterSize: 50, unhealthyThreshold: 0.55 },
          taintManager,
          podEvictionTimeoutMs: 300_000,
        },
      ),
    );
  return { harness, api, alive, pass, ready, readiness, taints, start, dialect, series };
}

t.test('a node that renews its lease stays untouched', async (t) => {
  const { pass, readiness, taints, start, api } = setUp(t, ['n1', 'n2']);
  await start();
  api.takeWrites();
  await pass(600);
  t.equal(readiness('n1'), 'True');
  t.same(taints('n1'), []);
  t.same(api.takeWrites(), []);
});

t.test(
  'a node that stops reporting is recorded, tainted, and its pods are evicted after their toleration',
  async (t) => {
    const { harness, api, alive, pass, ready, readiness, taints, start, dialect } = setUp(t, ['n1', 'n2']);
    await start();
    alive.delete('n2');
    await pass(30);
    t.equal(readiness('n2'), 'True', 'within its grace');
    await pass(20);
    t.equal(readiness('n2'), 'Unknown');
    t.same(taints('n2'), [`${dialect.taints.unreachable} NoSchedule`, `${dialect.taints.unreachable} NoExecute`]);
    t.match(api.get(pods, 'default/pod-n2')?.status?.conditions, [{ type: 'Ready', status: 'False' }]);
    t.ok(harness.events.includes('Normal NodeNotReady n2: Node n2 status is now: NodeNotReady'));
    t.ok(api.get(pods, 'default/pod-n2'), 'tolerated for 30 s');
    await pass(50);
    t.notOk(api.get(pods, 'default/pod-n2'));
    t.ok(api.get(pods, 'default/pod-n1'));
    t.ok(harness.events.includes('Normal TaintManagerEviction pod-n2: Marking for deletion Pod default/pod-n2'));
    alive.add('n2');
    ready('n2', 'True');
    await pass(20);
    t.same(taints('n2'), [], 'the node reports again');
  },
);

t.test('without the taint manager pods are evicted after the timeout', async (t) => {
  const { harness, api, alive, pass, ready, taints, start, dialect } = setUp(t, ['n1', 'n2', 'n3']);
  const pod = (name: string, more: object = {}) =>
    api.seed<Pod>(pods, {
      metadata: { name, namespace: 'default', ...more },
      spec: { containers: [], nodeName: 'n2' },
    });
  const owner = { apiVersion: dialect.apiVersion('apps', 'v1'), kind: 'DaemonSet', name: 'd', uid: 'd' };
  pod('daemon', { ownerReferences: [{ ...owner, controller: true }] });
  await start(false);
  alive.delete('n2');
  ready('n3', 'False');
  await pass(290);
  t.same(taints('n2'), [`${dialect.taints.unreachable} NoSchedule`], 'no NoExecute taint');
  t.ok(api.get(pods, 'default/pod-n2'));
  await pass(20);
  t.notOk(api.get(pods, 'default/pod-n2'));
  t.ok(api.get(pods, 'default/daemon'), 'daemon pods stay');
  t.ok(api.get(pods, 'default/pod-n1'));
  t.notOk(api.get(pods, 'default/pod-n3'), 'of a node that reports that it is not ready');
  const events = harness.events.filter((event) => !event.includes('NodeNotReady'));
  t.same(events.filter((event) => event.includes('n2')).sort(), [
    'Normal DeletingAllPods n2: Deleting all Pods from Node n2.',
    'Normal NodeControllerEviction pod-n2: Marking for deletion Pod pod-n2 from Node n2',
  ]);
  pod('late');
  await pass(10);
  t.notOk(api.get(pods, 'default/late'), 'pods that arrive later, too');
  alive.add('n2');
  ready('n2', 'True');
  await pass(10);
  pod('welcome');
  await pass(400);
  t.ok(api.get(pods, 'default/welcome'));
});

t.test('changes of the wall clock do not affect the detection', async (t) => {
  const dayMs = 86_400_000;
  for (const byMs of [dayMs, -dayMs]) {
    const { harness, api, alive, pass, readiness, start } = setUp(t, ['n1', 'n2', 'n3']);
    await start();
    alive.delete('n2');
    await pass(30);
    harness.clock.setWallClock(byMs);
    // Reconcile before the renewals.
    for (const name of ['n1', 'n2']) {
      api.change<Node>(nodes, name, (node) => {
        node.metadata.labels = { looked: 'at' };
      });
    }
    await harness.settled();
    t.equal(readiness('n1'), 'True');
    await pass(5);
    t.equal(readiness('n1'), 'True');
    t.equal(readiness('n2'), 'True', 'within its grace');
    await pass(15);
    t.equal(readiness('n1'), 'True');
    t.equal(readiness('n2'), 'Unknown', 'no report for 50 s');
    await harness.stop();
  }
});

t.test('a node that reports again in time keeps its pods', async (t) => {
  const { harness, api, alive, pass, ready, start } = setUp(t, ['n1', 'n2']);
  await start();
  ready('n2', 'False');
  await pass(20);
  ready('n2', 'True');
  await pass(60);
  t.ok(api.get(pods, 'default/pod-n2'));
  t.ok(harness.events.includes('Normal TaintManagerEviction pod-n2: Cancelling deletion of Pod default/pod-n2'));
  t.ok(alive.has('n2'));
});

t.test('nothing is evicted while no node reports', async (t) => {
  const { api, alive, pass, ready, readiness, taints, start, dialect } = setUp(t, ['n1', 'n2', 'n3'], {
    tolerationSeconds: 0,
  });
  await start();
  alive.clear();
  await pass(600);
  for (const name of ['n1', 'n2', 'n3']) {
    t.equal(readiness(name), 'Unknown');
    t.same(taints(name), [`${dialect.taints.unreachable} NoSchedule`]);
    t.ok(api.get(pods, `default/pod-${name}`), 'a pod without tolerations');
  }
  alive.add('n1');
  ready('n1', 'True');
  await pass(100);
  t.same(taints('n1'), []);
  t.ok(taints('n2').includes(`${dialect.taints.unreachable} NoExecute`), 'only some nodes are lost');
});

for (const taintManager of [true, false]) {
  t.test(`metrics of zones ${taintManager ? 'with' : 'without'} the taint manager`, async (t) => {
    const { api, alive, pass, start, dialect, series } = setUp(t, ['n1', 'n2', 'n3']);
    api.change<Node>(nodes, 'n3', (node) => {
      node.metadata.labels = { [dialect.labels.region]: 'r', [dialect.labels.zone]: 'z' };
    });
    await start(taintManager);
    t.same(await series('zone_size'), { '': 2, 'r:\0:z': 1 });
    t.same(await series('zone_health'), { '': 100, 'r:\0:z': 100 });
    t.same(await series('evictions_total'), { '': 0, 'r:\0:z': 0 });
    alive.delete('n2');
    await pass(400);
    t.same(await series('zone_health'), { '': 50, 'r:\0:z': 100 });
    t.same(await series('unhealthy_nodes_in_zone'), { '': 1, 'r:\0:z': 0 });
    for (const name of ['evictions_total', 'evictions_number']) {
      t.same(await series(name), { '': 1, 'r:\0:z': 0 }, 'once per node');
    }
    api.remove(nodes, 'n3');
    await pass(10);
    t.same(await series('zone_size'), { '': 2 });
  });
}

t.test('beta labels follow the stable ones', async (t) => {
  const rows: [labels: Record<string, string>, expected: Record<string, string>][] = [
    [{}, {}],
    [{ 'kubernetes.io/os': 'linux' }, { 'beta.kubernetes.io/os': 'linux' }],
    [{ 'kubernetes.io/arch': 'arm64', 'beta.kubernetes.io/arch': 'amd64' }, { 'beta.kubernetes.io/arch': 'arm64' }],
    [{ 'kubernetes.io/arch': 'arm64', 'beta.kubernetes.io/arch': 'arm64' }, {}],
    [{ 'beta.kubernetes.io/os': 'linux' }, {}],
  ];
  for (const [labels, expected] of rows)
    t.same(missingLabels(kubernetesDialect, { metadata: { name: 'n', labels }, spec: {} }), expected);
});
