import { Registry } from 'prom-client';
import t from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import type { Container, CRI, PodSandbox, RuntimeEventHandler } from '#nodeagent/cri/cri.js';
import { CRIError } from '#nodeagent/cri/errors.js';
import { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import { RuntimeObserver } from '#nodeagent/runtime/observer.js';

const labels = new RuntimeLabels(orchDialect);

function sandbox(uid: string, state: PodSandbox['state'] = 'SANDBOX_READY'): PodSandbox {
  return {
    id: `sandbox-${uid}`,
    metadata: { name: uid, namespace: 'default', uid, attempt: 0 },
    state,
    createdAt: 0,
    labels: { [labels.podUID]: uid, [labels.podName]: uid, [labels.podNamespace]: 'default' },
    annotations: {},
  };
}

function container(uid: string, name: string, state: Container['state'] = 'CONTAINER_RUNNING') {
  const { metadata, ...pod } = sandbox(uid);
  const more = { podSandboxId: pod.id, image: 'i', imageRef: 'i', startedAt: 0, finishedAt: 0, exitCode: 0 };
  const texts = { reason: '', message: '', logPath: '', mounts: [] };
  return { ...pod, ...more, ...texts, id: `${uid}-${name}`, metadata: { name, attempt: metadata.attempt }, state };
}

/** A runtime with sandboxes and containers that counts listings and emits the events of the test. */
async function observed() {
  const clock = new VirtualClock();
  const sandboxes = new Map<string, PodSandbox>();
  const running = new Map<string, ReturnType<typeof container>>();
  let listings = 0;
  /** Lists are returned once it resolves. */
  let answering = Promise.resolve();
  let handler: RuntimeEventHandler | undefined;
  const cri: Partial<CRI> = {
    async listPodSandbox(filter) {
      listings += 1;
      const uid = filter?.labelSelector?.[labels.podUID];
      return [...sandboxes.values()].filter((each) => uid === undefined || each.metadata.uid === uid);
    },
    async listContainers() {
      const all = [...running.values()];
      await answering;
      return all;
    },
    async containerStatus(id) {
      const container = running.get(id);
      if (container === undefined) throw new CRIError('NotFound', 'not found');
      return container;
    },
    async podSandboxStatus(id) {
      return { ...(sandboxes.get(id) as PodSandbox), ips: [], networkMode: 'POD' };
    },
    subscribe(given) {
      handler = given;
      return () => undefined;
    },
  };
  const hold = (each: PodSandbox) => sandboxes.set(each.id, each);
  const metrics = new AgentMetrics(new Registry(), orchDialect);
  const observer = new RuntimeObserver({ cri: cri as CRI, clock, log, labels, metrics });
  hold(sandbox('a'));
  await observer.start();
  handler?.onConnected(true);
  await clock.advance(10);
  const listed = async (ms: number) => {
    const before = listings;
    for (let i = 0; i < 10; i++) await clock.advance(ms / 10);
    return listings - before;
  };
  return {
    observer,
    hold,
    run: (each: ReturnType<typeof container>) => running.set(each.id, each),
    /** Blocks container lists until the returned function is called. */
    holdLists() {
      let release = () => {};
      answering = new Promise((resolve) => {
        release = resolve;
      });
      return () => {
        answering = Promise.resolve();
        release();
      };
    },
    counted: () => listings,
    listed,
    emit: (event: Parameters<RuntimeEventHandler['onEvent']>[0]) => handler?.onEvent(event),
  };
}

t.test('an event without news causes no query', async (t) => {
  const { observer, emit, listed } = await observed();
  t.teardown(() => observer.stop());
  emit({ id: 'sandbox-a', became: 'running' });
  t.equal(await listed(10_000), 0);
});

t.test('after an exit, lists are repeated until they show it', async (t) => {
  const { observer, hold, emit, listed } = await observed();
  t.teardown(() => observer.stop());
  emit({ id: 'sandbox-a', became: 'stopped' });
  t.equal(await listed(100), 1, 'the event was sooner than the listing');
  hold(sandbox('a', 'SANDBOX_NOTREADY'));
  t.equal(await listed(200), 1);
  t.equal(observer.get('a')?.sandboxes[0]?.state, 'SANDBOX_NOTREADY');
  emit({ id: 'sandbox-a', became: 'stopped' });
  t.equal(await listed(10_000), 0, 'nothing is left to be seen');
});

t.test('after an exit, lists are repeated even if they show other changes first', async (t) => {
  const { observer, run, emit, listed } = await observed();
  t.teardown(() => observer.stop());
  run(container('a', 'brief', 'CONTAINER_CREATED'));
  run(container('a', 'other'));
  await observer.refresh('a');
  const stateOf = (name: string) => observer.get('a')?.containers.find(({ metadata }) => metadata.name === name)?.state;

  run(container('a', 'brief'));
  emit({ id: 'a-brief', became: 'running' });
  emit({ id: 'a-brief', became: 'stopped' });
  await listed(30);
  t.equal(stateOf('brief'), 'CONTAINER_RUNNING', 'the start is listed before the end');
  run(container('a', 'other', 'CONTAINER_EXITED'));
  await listed(300);
  t.equal(stateOf('other'), 'CONTAINER_EXITED', 'the end of another one is listed before it, too');
  await listed(2000);
  run(container('a', 'brief', 'CONTAINER_EXITED'));
  await listed(10_000);
  t.equal(stateOf('brief'), 'CONTAINER_EXITED');
});

t.test('an event during the repeated lists causes a list at once', async (t) => {
  const { observer, run, emit, listed } = await observed();
  t.teardown(() => observer.stop());
  run(container('a', 'main'));
  await observer.refresh('a');
  // An event without a new state; the state is unchanged.
  emit({ id: 'a-main', podUID: 'a' });
  await listed(4000);
  run(container('a', 'main', 'CONTAINER_EXITED'));
  emit({ id: 'a-main', podUID: 'a' });
  await listed(100);
  t.equal(observer.get('a')?.containers[0]?.state, 'CONTAINER_EXITED');
});

t.test('a start of an unknown container is left to its creator for a while', async (t) => {
  const { observer, hold, emit, listed } = await observed();
  t.teardown(() => observer.stop());
  hold(sandbox('b'));
  emit({ id: 'sandbox-b', became: 'running' });
  t.equal(await listed(1000), 0);
  await observer.refresh('b');
  t.equal(await listed(3000), 0);

  hold(sandbox('c'));
  emit({ id: 'sandbox-c', became: 'running' });
  t.equal(await listed(3000), 1);
  t.ok(observer.get('c'));
});

t.test('unknown exits share a list', async (t) => {
  const { observer, hold, emit, listed } = await observed();
  t.teardown(() => observer.stop());
  for (const uid of ['b', 'c', 'd']) {
    hold(sandbox(uid, 'SANDBOX_NOTREADY'));
    emit({ id: `sandbox-${uid}`, became: 'stopped' });
  }
  t.equal(await listed(1000), 1);
  t.equal(observer.list().length, 4);
});

t.test('after an unknown exit, lists are repeated until they show it', async (t) => {
  const { observer, run, emit, listed } = await observed();
  t.teardown(() => observer.stop());
  run(container('a', 'brief'));
  emit({ id: 'a-brief', became: 'stopped' });
  await listed(500);
  t.equal(observer.get('a')?.containers[0]?.state, 'CONTAINER_RUNNING', 'the event was sooner than the listing');
  run(container('a', 'brief', 'CONTAINER_EXITED'));
  await listed(1000);
  t.equal(observer.get('a')?.containers[0]?.state, 'CONTAINER_EXITED');
});

t.test('a series of unknown exits does not delay the list', async (t) => {
  const { observer, hold, emit, listed } = await observed();
  t.teardown(() => observer.stop());
  hold(sandbox('b', 'SANDBOX_NOTREADY'));
  emit({ id: 'sandbox-b', became: 'stopped' });
  for (let i = 0; i < 6; i++) {
    await listed(100);
    emit({ id: `unknown-${i}`, became: 'stopped' });
  }
  t.ok(observer.get('b'));
});

t.test('changes missed by events appear in the next periodic list', async (t) => {
  const { observer, hold, listed } = await observed();
  t.teardown(() => observer.stop());
  hold(sandbox('a', 'SANDBOX_NOTREADY'));
  await listed(15_000);
  t.equal(observer.get('a')?.sandboxes[0]?.state, 'SANDBOX_NOTREADY');
});

t.test('a created container is queried by ID, and the rest is unchanged', async (t) => {
  const { observer, hold, run, counted } = await observed();
  t.teardown(() => observer.stop());
  const changed: string[] = [];
  observer.onChange((uid) => changed.push(uid));
  const before = counted();
  hold(sandbox('b'));
  await observer.addCreated('b', { kind: 'sandbox', id: 'sandbox-b' });
  for (const name of ['first', 'second']) {
    run(container('b', name));
    await observer.addCreated('b', { kind: 'container', id: `b-${name}`, sandboxId: 'sandbox-b' });
  }
  const { name, sandboxes = [], containers = [] } = observer.get('b') ?? {};
  t.match({ name, sandboxes, containers }, { name: 'b', sandboxes: { length: 1 }, containers: { length: 2 } });
  t.same(
    containers.map(({ podSandboxId }) => podSandboxId),
    ['sandbox-b', 'sandbox-b'],
  );
  t.same(changed, ['b', 'b', 'b']);
  t.equal(counted(), before, 'nothing was listed');
  await observer.addCreated('b', { kind: 'container', id: 'b-gone', sandboxId: 'sandbox-b' });
  t.equal(counted(), before + 1, 'what is not there may have left other things');
  t.equal(observer.get('b')?.containers.length, 2);
});

t.test('a delayed list neither hides containers created meanwhile nor is lost', async (t) => {
  const { observer, run, holdLists } = await observed();
  t.teardown(() => observer.stop());
  run(container('a', 'first'));
  await observer.refresh('a');
  run(container('a', 'first', 'CONTAINER_EXITED'));
  const release = holdLists();
  const late = observer.refresh('a');
  run(container('a', 'second'));
  await observer.addCreated('a', { kind: 'container', id: 'a-second', sandboxId: 'sandbox-a' });
  t.equal(observer.get('a')?.containers.find(({ id }) => id === 'a-first')?.state, 'CONTAINER_RUNNING');
  release();
  const { containers } = await late;
  t.same(Object.fromEntries(containers.map(({ id, state }) => [id, state])), {
    'a-first': 'CONTAINER_EXITED',
    'a-second': 'CONTAINER_RUNNING',
  });
});
