/** A whole agent under pressure: conditions, evictions, statuses, events, and what stays of the pods. */
import { Registry } from 'prom-client';
import t from 'tap';
import { events, nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Event, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { nodeName, startAgent, testPod } from '#nodeagent/testing/agent-fixture.js';
import { overrideCalls } from '#nodeagent/testing/override-calls.js';
import { ShortMachine } from '#nodeagent/testing/short-machine.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';

const Mi = 2 ** 20;

/** An agent whose machine is under the control of the test. Pods have one container, named as they are. */
async function shortAgent(t: { teardown(fn: () => unknown): void }, args: readonly string[] = []) {
  const machine = new ShortMachine();
  const metrics = new Registry();
  /** Working sets by name of the container; others use 1 Mi. */
  const memory = new Map<string, number>();
  const agent = await virtualAgent(t, {
    args: ['--eviction-hard=memory.available<100Mi,nodefs.available<10%', ...args],
    dependencies: (_, runtime) => ({
      ...{ machine, metrics },
      cri: overrideCalls(runtime, {
        listContainerStats: async () =>
          (await runtime.listContainerStats()).map((each) => ({
            ...each,
            workingSetBytes: memory.get(each.name) ?? each.workingSetBytes,
          })),
      }),
    }),
  });
  const { api, clock } = agent;
  const condition = (type: string) =>
    api.get(nodes, nodeName)?.status?.conditions?.find((each) => each.type === type)?.status;
  const eventsOf = (name: string, reason: string): Event[] =>
    api.list(events).filter((each) => each.involvedObject.name === name && each.reason === reason);
  const start = (name: string, spec: Partial<PodSpec> = {}, bytes?: number): Pod => {
    if (bytes !== undefined) memory.set(name, bytes);
    const containers = [{ name, image: 'docker.io/test/app:1.0', ...spec.containers?.[0] }];
    const pod = testPod(name, { terminationGracePeriodSeconds: 5, ...spec, containers });
    api.seed(pods, pod);
    return pod;
  };
  const ofRuntime = async (name: string) =>
    (await agent.runtime.listContainers()).filter(({ metadata }) => metadata.name === name);
  /** The machine is short until a pod has ended. */
  const shortUntilEviction = async (name: string) => {
    machine.short = { memoryAvailableBytes: 99 * Mi };
    await clock.advanceUntil(() => agent.status(name)?.phase === 'Failed');
    machine.short = {};
  };
  return { ...agent, machine, metrics, condition, eventsOf, start, ofRuntime, shortUntilEviction, memory };
}

t.test('a node without memory evicts the pod that uses most above its request, and recovers; twice', async (t) => {
  const agent = await shortAgent(t, ['--eviction-pressure-transition-period=30s']);
  const { api, clock, status, condition, eventsOf, start, ofRuntime, machine } = agent;
  for (const round of ['first', 'second']) {
    const [small, large, modest] = [`${round}-small`, `${round}-large`, `${round}-modest`];
    start(small, {}, 10 * Mi);
    start(large, { containers: [{ name: large, resources: { requests: { memory: '64Mi' } } }] }, 200 * Mi);
    start(modest, { containers: [{ name: modest, resources: { requests: { memory: '1Gi' } } }] }, 800 * Mi);
    await agent.until(() => [small, large, modest].every((name) => status(name)?.phase === 'Running'));
    t.equal(condition('MemoryPressure'), 'False', `${round}: before`);
    await agent.shortUntilEviction(large);
    const message = `The node was low on resource: memory. Container ${large} was using 200Mi, which exceeds its request of 64Mi. `;
    t.match(status(large), { phase: 'Failed', reason: 'Evicted', message }, `${round}: status`);
    t.match(
      status(large)?.containerStatuses,
      [{ state: { terminated: { exitCode: Number } } }],
      `${round}: containers`,
    );
    await agent.until(() => eventsOf(large, 'Evicted').length > 0);
    const [event, ...more] = eventsOf(large, 'Evicted');
    t.equal(more.length, 0, `${round}: one event`);
    t.match(event, { type: 'Warning', message, involvedObject: { kind: 'Pod', namespace: 'default' } });
    t.same(
      event?.metadata.annotations,
      { offending_containers: large, offending_containers_usage: '200Mi', starved_resource: 'memory' },
      `${round}: annotations`,
    );
    t.match(eventsOf(nodeName, 'EvictionThresholdMet')[0], {
      message: 'Attempting to reclaim memory',
      type: 'Warning',
    });
    await agent.until(() => condition('MemoryPressure') === 'True');
    const left = async () => (await ofRuntime(large)).length;
    for (let second = 0; second < 60 && (await left()) > 0; second++) await clock.advance(1000);
    t.equal(await left(), 0, `${round}: its containers are removed at once`);
    t.match(status(large), { phase: 'Failed', reason: 'Evicted', message }, `${round}: the status stays`);
    t.match(
      [small, modest].map((name) => status(name)?.phase),
      ['Running', 'Running'],
      `${round}: the others run`,
    );
    await clock.advance(60_000);
    t.equal(condition('MemoryPressure'), 'False', `${round}: after`);
    machine.short = {};
  }
  const text = await agent.metrics.metrics();
  t.match(text, /^nodeagent_evictions\{eviction_signal="memory.available"\} 2$/m);
  t.match(text, /^nodeagent_evictions\{eviction_signal="nodefs.available"\} 0$/m);
  t.match(text, /^nodeagent_eviction_stats_age_seconds_count\{eviction_signal="memory.available"\} 2$/m);
  t.equal(api.list(pods).length, 6, 'objects stay');
});

t.test('a node under pressure rejects new pods: without memory only those of best effort', async (t) => {
  const { clock, status, start, machine, condition, eventsOf, until } = await shortAgent(t);
  const guaranteed = { requests: { memory: '1Mi', cpu: '1m' }, limits: { memory: '1Mi', cpu: '1m' } };
  start('critical', { priority: 2_000_000_000 });
  machine.short = { memoryAvailableBytes: Mi };
  await until(() => condition('MemoryPressure') === 'True');
  start('best-effort');
  start('guaranteed', { containers: [{ name: 'guaranteed', resources: guaranteed }], priority: 2_000_001_000 });
  await until(() => status('best-effort')?.phase === 'Failed' && status('guaranteed')?.phase === 'Running');
  const message = 'Pod The node had condition: [MemoryPressure]. ';
  t.match(status('best-effort'), { reason: 'Evicted', message });
  t.match(eventsOf('best-effort', 'Evicted')[0], {
    type: 'Warning',
    message: 'The node had condition: [MemoryPressure]. ',
  });
  t.equal(status('critical')?.phase, 'Running', 'a critical pod is not evicted');
  machine.short = { storageAvailableBytes: 1 };
  await until(() => condition('DiskPressure') === 'True');
  start('with-requests', { containers: [{ name: 'with-requests', resources: guaranteed }] });
  await until(() => status('with-requests')?.phase === 'Failed');
  t.match(status('with-requests'), {
    reason: 'Evicted',
    message: 'Pod The node had condition: [MemoryPressure DiskPressure]. ',
  });
  machine.short = {};
  await clock.advance(310_000);
  t.equal(condition('DiskPressure'), 'False');
  start('later');
  await until(() => status('later')?.phase === 'Running');
});

t.test('a soft threshold leaves pods their grace period', async (t) => {
  const agent = await shortAgent(t, [
    '--eviction-soft=memory.available<1Gi',
    '--eviction-soft-grace-period=memory.available=1m',
    '--eviction-max-pod-grace-period=20',
  ]);
  const { clock, status, machine, condition, runtime, until, api } = agent;
  const pod = testPod('p', { terminationGracePeriodSeconds: 300 }, { 'sim.orch.io/stop-latency': 'never' });
  api.seed(pods, pod);
  await until(() => status('p')?.phase === 'Running');
  machine.short = { memoryAvailableBytes: 512 * Mi };
  const began = clock.monotonic();
  await until(() => condition('MemoryPressure') === 'True');
  await until(() => agent.reasons('p').includes('Evicted'));
  const evicted = (clock.monotonic() - began) / 1000;
  t.ok(evicted >= 60 && evicted <= 85, `evicted after ${evicted} s`);
  t.equal(status('p')?.phase, 'Running');
  await until(() => status('p')?.phase === 'Failed');
  const killed = (clock.monotonic() - began) / 1000 - evicted;
  t.ok(killed >= 18 && killed <= 25, `killed ${killed} s later`);
  t.equal((await runtime.listContainers({ state: 'CONTAINER_RUNNING' })).length, 0);
});

t.test('a pod that is being deleted is ended sooner when memory is short', async (t) => {
  const agent = await shortAgent(t);
  const { api, clock, status, until, machine } = agent;
  api.seed(pods, testPod('p', { terminationGracePeriodSeconds: 300 }, { 'sim.orch.io/stop-latency': 'never' }));
  await until(() => status('p')?.phase === 'Running');
  await api.client.resource(pods).delete('p', { namespace: 'default', gracePeriodSeconds: 300 });
  await clock.advance(5000);
  machine.short = { memoryAvailableBytes: 1 };
  const began = clock.monotonic();
  await until(() => api.get(pods, 'default/p') === undefined);
  const seconds = (clock.monotonic() - began) / 1000;
  t.ok(seconds < 30, `gone after ${seconds} s`);
});

t.test('an evicted pod stays evicted, also for the next agent', async (t) => {
  const agent = await shortAgent(t);
  const { clock, api, runtime } = agent;
  agent.start('p', {}, 500 * Mi);
  await agent.until(() => agent.status('p')?.phase === 'Running');
  await agent.shortUntilEviction('p');
  const before = agent.status('p');
  await clock.advance(120_000);
  t.same(agent.status('p'), before, 'nothing changes later');
  t.equal((await agent.ofRuntime('p')).length, 0);
  let isOver = false;
  const stopped = agent.fixture.stop().finally(() => {
    isOver = true;
  });
  while (!isOver) await agent.pass(100);
  await stopped;
  const next = startAgent({ clock, api, runtime });
  t.teardown(() => next.stop());
  await clock.advance(120_000);
  t.same(agent.status('p'), before, 'for the next agent too');
  t.equal((await agent.ofRuntime('p')).length, 0);
});

t.test('disk pressure removes the containers of ended pods before it evicts any', async (t) => {
  const agent = await shortAgent(t);
  const { api, status, until, machine, ofRuntime, clock, condition } = agent;
  api.seed(
    pods,
    testPod(
      'done',
      { restartPolicy: 'Never', containers: [{ name: 'done', image: 'docker.io/test/app:1.0' }] },
      { 'sim.orch.io/exit-after': '1s' },
    ),
  );
  agent.start('p');
  await until(() => status('done')?.phase === 'Succeeded' && status('p')?.phase === 'Running');
  await clock.advance(120_000);
  t.equal((await ofRuntime('done')).length, 1, 'they stay as long as there is room');
  const usual = machine.state.bind(machine);
  machine.state = async () => {
    const isFull = (await ofRuntime('done')).length > 0;
    return { ...(await usual()), ...(isFull ? { storageAvailableBytes: 1 } : {}) };
  };
  await until(() => condition('DiskPressure') === 'True');
  await clock.advance(20_000);
  t.equal((await ofRuntime('done')).length, 0);
  t.match(status('done'), { phase: 'Succeeded', containerStatuses: [{ state: { terminated: { exitCode: 0 } } }] });
  t.equal(status('p')?.phase, 'Running', 'no eviction');
  t.notOk(agent.reasons('p').includes('Evicted'));
});

t.test('dead runs of a container are collected by the options', async (t) => {
  const runs = async (...args: string[]) => {
    const agent = await shortAgent(t, args);
    agent.api.seed(
      pods,
      testPod(
        'p',
        { containers: [{ name: 'p', image: 'docker.io/test/app:1.0' }] },
        { 'sim.orch.io/exit-after': '1s' },
      ),
    );
    await agent.until(() => (agent.main('p')?.restartCount ?? 0) >= 4);
    await agent.clock.advance(65_000);
    const dead = (await agent.ofRuntime('p')).filter(({ state }) => state === 'CONTAINER_EXITED');
    t.ok((agent.main('p')?.restartCount ?? 0) >= 4, 'the count of restarts goes on');
    return dead.length;
  };
  t.equal(await runs(), 1, 'one is kept');
  t.equal(await runs('--maximum-dead-containers-per-container=3'), 3);
  t.equal(await runs('--maximum-dead-containers-per-container=5', '--maximum-dead-containers=2'), 2);
  t.ok((await runs('--minimum-container-ttl-duration=1h')) >= 1, 'young ones stay');
});

t.test('with --kernel-memcg-notification a shortage is noticed within a second', async (t) => {
  /** The longest of three delays, at different times after the last check. */
  const delay = async (...args: string[]) => {
    const delays: number[] = [];
    for (const offsetMs of [500, 4000, 7500]) {
      const agent = await shortAgent(t, args);
      agent.start('p', {}, 500 * Mi);
      await agent.until(() => agent.status('p')?.phase === 'Running');
      await agent.clock.advance(10_000 - (agent.clock.monotonic() % 10_000) + offsetMs);
      const began = agent.clock.monotonic();
      agent.machine.short = { memoryAvailableBytes: 1 };
      await agent.until(() => agent.status('p')?.phase === 'Failed');
      delays.push((agent.clock.monotonic() - began) / 1000);
    }
    return Math.max(...delays);
  };
  const slow = await delay();
  const fast = await delay('--kernel-memcg-notification');
  const old = await delay('--experimental-kernel-memcg-notification');
  t.ok(fast <= 2, `${fast} s`);
  t.ok(old <= 2, `${old} s`);
  t.ok(slow >= 3, `${slow} s without`);
});
