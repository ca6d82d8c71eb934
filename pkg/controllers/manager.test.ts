import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { namespaces, nodes, pods, serviceaccounts } from '#api/core/v1/resources.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import type { Leadership } from '#control-loop/leader-loop.js';
import { ControllerManager } from '#controllers/manager.js';
import { controllerManagerValues } from '#controllers/options/options.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { HealthChecks } from '#daemon/serving/health.js';

function setUp(t: Test, controllers: readonly string[], leadership?: Leadership) {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect, clock, resources: [namespaces, serviceaccounts] });
  const metrics = new Registry();
  const manager = new ControllerManager(controllerManagerValues(dialect, { controllers }), {
    client: api.client,
    dialect,
    clock,
    random: () => 0.5,
    log,
    events: () => ({ record() {} }),
    metrics,
    ...(leadership === undefined ? {} : { leadership }),
  });
  const stop = new AbortController();
  t.teardown(async () => {
    stop.abort();
    await manager.close();
  });
  const turn = async () => {
    for (let i = 0; i < 30; i += 1) await eventLoopTurn();
  };
  return { api, clock, manager, stop, metrics, turn, start: () => manager.start(stop.signal) };
}

t.test('the selected controllers run until the manager stops', async (t) => {
  const { api, manager, stop, metrics, turn, start } = setUp(t, ['serviceaccount', 'route']);
  api.seed(namespaces, { metadata: { name: 'a' }, spec: {} });
  const running = start();
  await manager.ready();
  await turn();
  t.same([...manager.states()], [['serviceaccount', 'running']], 'an unavailable controller is skipped');
  t.equal(api.list(serviceaccounts).length, 1);
  t.match(await metrics.metrics(), /controller_reconciles_total\{controller="serviceaccount",result="done"\} [1-9]/);
  stop.abort();
  await running;
  t.same([...manager.states()], [['serviceaccount', 'stopped']]);
  api.verify();
});

t.test('controllers resync after one to two times --min-resync-period', async (t) => {
  const { api, clock, metrics, start, manager } = setUp(t, ['serviceaccount']);
  api.seed(namespaces, { metadata: { name: 'a' }, spec: {} });
  start();
  await manager.ready();
  await clock.advance(60_000);
  const reconciled = async () =>
    Number(/reconciles_total\{controller="serviceaccount",result="done"\} (\d+)/.exec(await metrics.metrics())?.[1]);
  const before = await reconciled();
  await clock.advance(17 * 3600_000);
  t.equal(await reconciled(), before, 'after 18 hours: 12, and half of that by jitter');
  await clock.advance(3600_000);
  t.ok((await reconciled()) > before);
});

t.test('the manager waits for leadership, and stops when it is lost', async (t) => {
  let begin: () => void = () => undefined;
  let lose: () => void = () => undefined;
  const leadership: Leadership = {
    async lead(work, signal) {
      await new Promise<void>((resolve) => {
        begin = resolve;
      });
      const leading = new AbortController();
      lose = () => leading.abort();
      await work(AbortSignal.any([signal, leading.signal]));
      if (!signal.aborted) throw new Error('lost');
    },
  };
  const { api, manager, turn, start } = setUp(t, ['serviceaccount'], leadership);
  api.seed(namespaces, { metadata: { name: 'a' }, spec: {} });
  const running = start();
  const failed = t.rejects(running, { message: 'lost' });
  await manager.ready();
  await turn();
  t.equal(api.calls.length, 0, 'a standby sends no requests');
  begin();
  await turn();
  t.equal(api.list(serviceaccounts).length, 1);
  lose();
  await failed;
});

t.test('only own controllers start, one by one, with a health check each', async (t) => {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect, clock, resources: [namespaces, serviceaccounts, nodes, pods] });
  const chosen = { controllers: ['podgc', 'serviceaccount', 'namespace'], 'controller-start-interval': 5000 };
  const manager = new ControllerManager(controllerManagerValues(dialect, chosen), {
    client: api.client,
    dialect,
    clock,
    random: () => 0.5,
    log,
    events: () => ({ record() {} }),
    owns: (controller) => controller !== 'namespace',
  });
  const stop = new AbortController();
  const running = manager.start(stop.signal);
  await clock.advance(4900);
  t.same(
    [...manager.states()],
    [
      ['podgc', 'running'],
      ['serviceaccount', 'waiting'],
    ],
  );
  await clock.advance(200);
  t.same([...manager.states().values()], ['running', 'running']);
  const checks = new HealthChecks([() => manager.checks()]);
  const { body } = await checks.respond('healthz', new URLSearchParams('verbose'));
  t.match(body, '[+]podgc ok\n[+]serviceaccount ok\n');
  stop.abort();
  await clock.advance(1000);
  await running;
  t.same(manager.checks(), [], 'stopped controllers have no checks');
});

t.test('close before start does nothing', async (t) => {
  const { manager } = setUp(t, []);
  await manager.close();
  await t.rejects(manager.ready());
});
