/** The scheduler against a real API server (in process, store in memory). */

import { pino } from 'pino';
import { Registry } from 'prom-client';
import t from 'tap';
import { events as eventsResource, nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { TransportError } from '#http/client/transport-error.js';
import { schedulerMetrics } from '#scheduler/metrics/metrics.js';
import { Scheduler } from '#scheduler/scheduler.js';
import { startServer } from '#test/integration/apiserver/server.js';
import { cluster } from '#test/integration/scheduler/cluster.js';

const clock = realClock;
const random = Math.random;
const user = { name: 'tester', groups: [dialect.groups.masters] };

const isBound = (pod: Pod) => (pod.spec.nodeName ?? '') !== '';
const cpu = (amount: string) => ({ containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: amount } } }] });
const condition = (pod: Pod) => pod.status?.conditions?.find((c) => c.type === 'PodScheduled');

t.test('binds pods and spreads them over the nodes', async (t) => {
  const c = await cluster(t);
  for (const name of ['n1', 'n2', 'n3']) await c.node(name);
  for (let i = 0; i < 6; i++) await c.pod(`p${i}`);
  const placed = await Promise.all(Array.from({ length: 6 }, (_, i) => c.when(`p${i}`, isBound)));
  const counts = new Map<string, number>();
  for (const pod of placed) counts.set(pod.spec.nodeName ?? '', (counts.get(pod.spec.nodeName ?? '') ?? 0) + 1);
  t.same([...counts.values()], [2, 2, 2]);
  t.equal(condition(placed[0] as Pod)?.status, 'True');
});

t.test('reports why a pod does not fit, and binds it when there is room', async (t) => {
  const c = await cluster(t);
  await c.node('n1');
  await c.pod('big', cpu('1500m'));
  await c.when('big', isBound);
  await c.pod('more', cpu('1'));
  const waiting = await c.when('more', (pod) => condition(pod)?.status === 'False');
  t.equal(condition(waiting)?.reason, 'Unschedulable');
  t.equal(
    condition(waiting)?.message,
    '0/1 nodes are available: 1 Insufficient cpu. ' +
      'preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
  );
  const failed = async () =>
    (await c.client.resource(eventsResource).list({ namespace: 'default' })).items.find(
      (e) => e.reason === 'FailedScheduling',
    );
  while ((await failed()) === undefined) await clock.sleep(20);
  t.equal((await failed())?.involvedObject.name, 'more');
  await c.client.resource(pods).delete('big', { namespace: 'default', gracePeriodSeconds: 0 });
  t.equal((await c.when('more', isBound)).spec.nodeName, 'n1');
});

t.test('respects selectors, affinity, taints, host ports and cordons', async (t) => {
  const c = await cluster(t);
  await c.node('plain');
  await c.node('ssd', {}, { disk: 'ssd' });
  await c.node('tainted', { taints: [{ key: 'only', value: 'gpu', effect: 'NoSchedule' }] });
  await c.node('cordoned', { unschedulable: true });
  await c.pod('wants-ssd', { nodeSelector: { disk: 'ssd' } });
  t.equal((await c.when('wants-ssd', isBound)).spec.nodeName, 'ssd');
  await c.pod('tolerant', {
    tolerations: [{ key: 'only', operator: 'Exists' }],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['tainted'] }] }],
        },
      },
    },
  });
  t.equal((await c.when('tolerant', isBound)).spec.nodeName, 'tainted');
  const port = { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80, hostPort: 8080 }] }] };
  for (const name of ['port-1', 'port-2', 'port-3']) await c.pod(name, port);
  const stuck = await Promise.any(
    ['port-1', 'port-2', 'port-3'].map((name) => c.when(name, (pod) => condition(pod)?.status === 'False')),
  );
  t.equal(
    condition(stuck)?.message,
    '0/4 nodes are available: 1 node(s) had untolerated taint {only: gpu}, 1 node(s) were unschedulable, ' +
      "2 node(s) didn't have free ports for the requested pod ports. preemption: 0/4 nodes are available: " +
      '2 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.',
  );
  await c.client.resource(nodes).patch('cordoned', { spec: { unschedulable: false } }, { type: 'merge' });
  t.equal((await c.when(stuck.metadata.name ?? '', isBound)).spec.nodeName, 'cordoned');
});

t.test('important pods evict others, unprotected ones first', async (t) => {
  const c = await cluster(t);
  await c.node('n1');
  await c.node('n2');
  const api = c.client.resource(pods);
  const low = (name: string, amount: string, node: string, labels = {}) =>
    api.create({
      metadata: { name, namespace: 'default', labels },
      spec: { ...cpu(amount), nodeName: node, priority: 1 },
    });
  await low('protected', '2', 'n1', { keep: 'me' });
  await low('free', '1500m', 'n2');
  const budget = {
    metadata: { name: 'keep', namespace: 'default' },
    spec: { minAvailable: 1, selector: { matchLabels: { keep: 'me' } } },
  };
  await c.client.resource(poddisruptionbudgets).create(budget);
  await c.pod('important', { ...cpu('1'), priority: 1000 });
  const nominated = await c.when('important', (pod) => (pod.status?.nominatedNodeName ?? '') !== '');
  t.equal(nominated.status?.nominatedNodeName, 'n2');
  t.equal(condition(nominated)?.message, '0/2 nodes are available: 2 Insufficient cpu.');
  await c.when('free', ({ metadata }) => metadata.deletionTimestamp !== undefined);
  // Like its node agent after the pod has ended.
  await api.delete('free', { namespace: 'default', gracePeriodSeconds: 0 });
  t.equal((await c.when('important', isBound)).spec.nodeName, 'n2');
  const kept = await api.get('protected', { namespace: 'default' });
  t.equal(kept.metadata.deletionTimestamp, undefined);
  const preempted = async () =>
    (await c.client.resource(eventsResource).list({ namespace: 'default' })).items.find(
      (e) => e.reason === 'Preempted',
    );
  while ((await preempted()) === undefined) await clock.sleep(20);
  t.equal((await preempted())?.message, 'Preempted by default/important on node n2');
  t.match(await c.metrics(), /^scheduler_preemption_victims_sum 1$/m);
});

t.test('binds many pods at once without over-committing nodes', async (t) => {
  const c = await cluster(t);
  for (let i = 0; i < 20; i++) await c.node(`n${i}`);
  await Promise.all(Array.from({ length: 250 }, (_, i) => c.pod(`p${i}`)));
  for (;;) {
    const { items } = await c.client.resource(pods).list({ namespace: 'default' });
    if (items.filter(isBound).length >= 200) {
      const perNode = new Map<string, number>();
      for (const pod of items.filter(isBound)) {
        perNode.set(pod.spec.nodeName ?? '', (perNode.get(pod.spec.nodeName ?? '') ?? 0) + 1);
      }
      t.equal(Math.max(...perNode.values()), 10, 'no node has more than its ten pods');
      t.equal(items.filter(isBound).length, 200);
      return;
    }
    await clock.sleep(50);
  }
});

t.test('a scheduler that loses leadership works again when it leads again', async (t) => {
  const api = await startServer(t, { dialect });
  const client = new RestClient({ transport: new InProcessTransport({ handler: api.handler, user }), dialect, clock });
  await client.request('POST', '/api/v1/namespaces', { metadata: { name: 'default' } });
  const allocatable = { cpu: '2', memory: '1Gi', pods: '10' };
  await client.resource(nodes).create({
    metadata: { name: 'n' },
    spec: {},
    status: { capacity: allocatable, allocatable },
  });
  const recorder = new ApiEventRecorder({ client, source: { component: 'default-scheduler' }, clock, random, log });
  let lose: () => void = () => undefined;
  let terms = 0;
  const scheduler = new Scheduler({
    client,
    recorder,
    dialect,
    clock,
    random,
    log,
    metrics: schedulerMetrics(new Registry()),
    leadership: {
      async lead(work, signal) {
        while (!signal.aborted) {
          const term = new AbortController();
          lose = () => term.abort();
          terms += 1;
          await work(AbortSignal.any([signal, term.signal]));
        }
      },
    },
  });
  const scheduling = scheduler.start(new AbortController().signal);
  const bound = async (name: string) => {
    const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: '600m' } } }];
    await client.resource(pods).create({ metadata: { name, namespace: 'default' }, spec: { containers } });
    for (const deadline = clock.monotonic() + 60_000; clock.monotonic() < deadline; await clock.sleep(20)) {
      const pod = await client.resource(pods).get(name, { namespace: 'default' });
      if ((pod.spec.nodeName ?? '') !== '') return true;
    }
    return false;
  };
  t.ok(await bound('a'));
  for (const name of ['b', 'c']) {
    lose();
    t.ok(await bound(name), 'and counts running pods');
  }
  t.equal(terms, 3);
  await scheduler.close();
  await scheduling;
  await recorder.close();
  await client.close();
});

t.test('the metrics of 1.24 cover queues, points and plugins', async (t) => {
  const { node, pod, when, metrics } = await cluster(t);
  await pod('early');
  await when('early', (each) => each.status?.conditions?.some(({ reason }) => reason === 'Unschedulable') === true);
  await node('small');
  await when('early', (each) => each.spec.nodeName === 'small');
  await pod('large', { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '9' } } }] });
  await when('large', (each) => each.status?.conditions?.some(({ reason }) => reason === 'Unschedulable') === true);
  for (let i = 0; i < 10; i++) await pod(`p${i}`);
  await when('p9', (each) => each.spec.nodeName === 'small' || each.status?.conditions !== undefined);
  const profile = 'profile="default-scheduler"';
  const expected = [
    'scheduler_pending_pods{queue="unschedulable"} 2',
    'scheduler_pending_pods{queue="active"} 0',
    'scheduler_pending_pods{queue="backoff"} 0',
    `scheduler_unschedulable_pods{plugin="NodeResourcesFit",${profile}} 2`,
    'scheduler_queue_incoming_pods_total{queue="active",event="PodAdd"} 12',
    'scheduler_queue_incoming_pods_total{queue="unschedulable",event="ScheduleAttemptFailure"} 3',
    'scheduler_pod_scheduling_attempts_count 10',
    'scheduler_pod_scheduling_duration_seconds_count{attempts="1"} 9',
    'scheduler_pod_scheduling_duration_seconds_count{attempts="2"} 1',
    'scheduler_scheduling_algorithm_duration_seconds_count 10',
    `scheduler_framework_extension_point_duration_seconds_count{extension_point="Filter",status="Success",${profile}} 10`,
    `scheduler_framework_extension_point_duration_seconds_count{extension_point="Bind",status="Success",${profile}} 10`,
    'scheduler_scheduler_cache_size{type="nodes"} 1',
    'scheduler_scheduler_cache_size{type="pods"} 10',
    'scheduler_scheduler_goroutines{operation="binding"} 0',
  ];
  const missing = (shown: string) => expected.filter((line) => !shown.split('\n').includes(line));
  let text = await metrics();
  // The last binding may still be in progress.
  for (let i = 0; i < 6000 && missing(text).length > 0; i++) {
    await clock.sleep(10);
    text = await metrics();
  }
  t.same(missing(text), []);
  t.match(text, /scheduler_queue_incoming_pods_total\{queue="(active|backoff)",event="NodeAdd"\} 1/);
  t.match(
    text,
    'scheduler_plugin_execution_duration_seconds_bucket{le="0.00001",plugin="NodeResourcesFit",extension_point="Filter"',
  );
});

t.test('a scheduler whose writes are refused stops deciding and logs it once', async (t) => {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  let writes = 0;
  const refused = async () => {
    writes += 1;
    throw new TransportError('TermOver', 'write refused');
  };
  const c = await cluster(t, { log, binder: { bind: refused, reportUnschedulable: refused } });
  await c.node('n1');
  await c.pod('a');
  while (writes === 0) await clock.sleep(5);
  await c.pod('b');
  // The pod is either being scheduled or still in the queue.
  const waits = async () => /pending_pods\{queue="active"\} 1/.test(await c.metrics());
  while (writes === 1 && !(await waits())) await clock.sleep(5);
  t.equal(writes, 1);
  t.equal(lines.length, 1);
  t.match(lines[0], /lost leadership/);
});
