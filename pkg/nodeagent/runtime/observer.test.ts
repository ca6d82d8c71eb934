import { Registry } from 'prom-client';
import t from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import type { CRI, PodSandbox, RuntimeEventHandler } from '#nodeagent/cri/cri.js';
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

/** A runtime that holds sandboxes, counts listings and tells what it is told to tell. */
async function observed() {
  const clock = new VirtualClock();
  const held = new Map<string, PodSandbox>();
  let listings = 0;
  let handler: RuntimeEventHandler | undefined;
  const cri: Partial<CRI> = {
    async listPodSandbox(filter) {
      listings += 1;
      const uid = filter?.labelSelector?.[labels.podUID];
      return [...held.values()].filter((each) => uid === undefined || each.metadata.uid === uid);
    },
    listContainers: async () => [],
    async podSandboxStatus(id) {
      return { ...(held.get(id) as PodSandbox), ips: [], networkMode: 'POD' };
    },
    subscribe(given) {
      handler = given;
      return () => undefined;
    },
  };
  const hold = (each: PodSandbox) => held.set(each.id, each);
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
    listed,
    tell: (event: Parameters<RuntimeEventHandler['onEvent']>[0]) => handler?.onEvent(event),
  };
}

t.test('an event that tells what is known asks for nothing', async (t) => {
  const { observer, tell, listed } = await observed();
  t.teardown(() => observer.stop());
  tell({ id: 'sandbox-a', became: 'running' });
  t.equal(await listed(10_000), 0);
});

t.test('an exit is looked for until the listing shows it', async (t) => {
  const { observer, hold, tell, listed } = await observed();
  t.teardown(() => observer.stop());
  tell({ id: 'sandbox-a', became: 'stopped' });
  t.equal(await listed(100), 1, 'the event was sooner than the listing');
  hold(sandbox('a', 'SANDBOX_NOTREADY'));
  t.equal(await listed(200), 1);
  t.equal(observer.get('a')?.sandboxes[0]?.state, 'SANDBOX_NOTREADY');
  tell({ id: 'sandbox-a', became: 'stopped' });
  t.equal(await listed(10_000), 0, 'nothing is left to be seen');
});

t.test('what starts and is not known is left to whoever starts it, for a while', async (t) => {
  const { observer, hold, tell, listed } = await observed();
  t.teardown(() => observer.stop());
  hold(sandbox('b'));
  tell({ id: 'sandbox-b', became: 'running' });
  t.equal(await listed(1000), 0);
  await observer.refresh('b');
  t.equal(await listed(3000), 0);

  hold(sandbox('c'));
  tell({ id: 'sandbox-c', became: 'running' });
  t.equal(await listed(3000), 1);
  t.ok(observer.get('c'));
});

t.test('unknown ends are looked for together', async (t) => {
  const { observer, hold, tell, listed } = await observed();
  t.teardown(() => observer.stop());
  for (const uid of ['b', 'c', 'd']) {
    hold(sandbox(uid, 'SANDBOX_NOTREADY'));
    tell({ id: `sandbox-${uid}`, became: 'stopped' });
  }
  t.equal(await listed(1000), 1);
  t.equal(observer.list().length, 4);
});
