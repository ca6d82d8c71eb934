import t from 'tap';
import { configmaps, pods } from '#api/core/v1/resources.gen.js';
import type { PodStatus } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import type { Checker } from '#nodeagent/probes/checker.js';
import { startAgent, testPod } from '#nodeagent/testing/agent-fixture.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';

const prefix = 'sim.orch.io/';
const image = 'docker.io/test/app:1.0';

t.test('a failing sandbox is retried every ten seconds, whatever else happens', async (t) => {
  const { api, runtime, clock, reasons, until, pass } = await virtualAgent(t);
  const tries: number[] = [];
  const run = runtime.runPodSandbox.bind(runtime);
  runtime.runPodSandbox = (...args) => {
    tries.push(clock.monotonic());
    return run(...args);
  };
  api.seed(pods, testPod('web', {}, { [`${prefix}sandbox-failure`]: 'no network' }));
  await until(() => reasons('web').includes('FailedCreatePodSandBox'));
  for (let i = 0; i < 20; i++) {
    api.change(pods, 'default/web', ({ metadata }) => {
      metadata.labels = { i: String(i) };
    });
    await pass(1500);
  }
  t.ok(tries.length >= 3 && tries.length <= 4, `${tries.length} in half a minute`);
});

t.test('a start failure is reported until the next attempt', async (t) => {
  const { api, runtime, clock, main, until, pass } = await virtualAgent(t);
  const tries: number[] = [];
  const start = runtime.startContainer.bind(runtime);
  runtime.startContainer = (id) => {
    tries.push(clock.monotonic());
    return start(id);
  };
  api.seed(pods, testPod('run', {}, { [`${prefix}start-failure`]: 'exec format error' }));
  api.seed(pods, testPod('create', {}, { [`${prefix}create-failure`]: 'no such device' }));
  for (const [name, waiting] of [
    ['run', { reason: 'RunContainerError', message: 'exec format error' }],
    ['create', { reason: 'CreateContainerError', message: 'no such device' }],
  ] as const) {
    await until(() => main(name)?.state?.waiting?.reason === waiting.reason);
    await pass(4000);
    t.match(main(name)?.state?.waiting, waiting);
  }
  t.equal(tries.length, 1);
  await until(() => tries.length === 2);
  t.ok((tries[1] ?? 0) - (tries[0] ?? 0) >= 10_000);
});

t.test("an endless hook does not block its pod's termination", async (t) => {
  const checks: unknown[] = [];
  const checker: Checker = { check: (handler) => new Promise(() => checks.push(handler)) };
  const { api, clock, until } = await virtualAgent(t, { dependencies: { checker } });
  const lifecycle = { postStart: { exec: { command: ['sleep', '3600'] } } };
  api.seed(pods, testPod('web', { containers: [{ name: 'main', image, lifecycle }] }));
  await until(() => checks.length === 1);
  const began = clock.monotonic();
  api.change(pods, 'default/web', ({ metadata }) => {
    metadata.deletionTimestamp = formatTime(clock.now());
    metadata.deletionGracePeriodSeconds = 5;
  });
  await until(() => api.get(pods, 'default/web') === undefined);
  t.ok(clock.monotonic() - began < 60_000);
});

t.test('a ready pod stays ready while a new agent adopts it', async (t) => {
  const { api, clock, runtime, fixture, isTrue, until, pass } = await virtualAgent(t);
  const readinessProbe = { httpGet: { path: '/', port: 80 }, periodSeconds: 5 };
  api.seed(configmaps, { metadata: { name: 'cfg', namespace: 'default' }, data: { a: '1' } });
  const volumes = [{ name: 'v', configMap: { name: 'cfg' } }];
  api.seed(pods, testPod('web', { volumes, containers: [{ name: 'main', image, readinessProbe }] }));
  await until(() => isTrue('web', 'Ready'));
  await fixture.stop();
  // Delays its volumes.
  const stop = api.intercept(({ resource }) => (resource === 'configmaps' ? serviceUnavailable('not now') : undefined));
  const reported: (string | undefined)[] = [];
  api.intercept(({ verb, resource, body }) => {
    const { conditions = [] } = (body as { status?: PodStatus } | undefined)?.status ?? {};
    if (verb === 'patch' && resource === 'pods')
      reported.push(...conditions.map(({ type, status }) => `${type}=${status}`));
    return undefined;
  });
  const again = startAgent({ clock, api, runtime });
  t.teardown(() => again.stop());
  await pass(20_000);
  stop();
  await pass(20_000);
  t.same(reported, []);
  t.ok(isTrue('web', 'Ready'));
});

t.test('a start queries the created objects by ID and lists nothing', async (t) => {
  const { api, runtime, isTrue, until } = await virtualAgent(t);
  const calls: string[] = [];
  for (const name of ['listPodSandbox', 'listContainers', 'podSandboxStatus', 'containerStatus'] as const) {
    const call = runtime[name].bind(runtime) as (argument?: unknown) => Promise<never>;
    runtime[name] = (argument?: unknown) => {
      calls.push(name);
      return call(argument);
    };
  }
  const statuses: (PodStatus | undefined)[] = [];
  api.intercept(({ verb, resource, body }) => {
    if (verb === 'patch' && resource === 'pods') statuses.push((body as { status?: PodStatus }).status);
    return undefined;
  });
  const containers = ['first', 'second'].map((name) => ({ name, image }));
  api.seed(pods, testPod('web', { containers }));
  await until(() => isTrue('web', 'Ready'));
  t.same(calls, ['podSandboxStatus', 'containerStatus', 'containerStatus']);
  t.equal(statuses.length, 1, 'one status update');
  t.match(statuses[0], { phase: 'Running', podIP: /\d/ });
});
