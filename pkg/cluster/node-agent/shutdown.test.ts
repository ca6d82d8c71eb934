/** A whole agent whose machine shuts down. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { events, nodes, pods } from '#api/core/v1/resources.gen.js';
import type { PodSpec } from '#api/core/v1/types.gen.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { shutdownDependencies } from '#cluster/node-agent/shutdown.js';
import { silentLogger } from '#daemon/log/logger.js';
import { parseOptions } from '#daemon/options/parse.js';
import { applyConfig } from '#nodeagent/options/config/file.js';
import { configApiVersion, configKind } from '#nodeagent/options/config/value-formats.js';
import { nodeAgentOptionTable } from '#nodeagent/options/options.js';
import { FakeLogind } from '#nodeagent/shutdown/testing/fake-logind.js';
import { newSimulatedRuntime, startAgent, testPod, testResources } from '#nodeagent/testing/agent-fixture.js';

const ended = {
  phase: 'Failed',
  reason: 'Terminated',
  message: 'Pod was terminated in response to imminent node shutdown.',
};
const running = { phase: 'Running' };

/** An agent with the fields of a configuration file. */
async function agentWith(t: Test, fields: object, dialect: Dialect = orchDialect) {
  const directory = await mkdtemp(join(tmpdir(), 'shutdown-'));
  const table = nodeAgentOptionTable(dialect);
  const argv = dialect === orchDialect ? [] : [`--dialect=${dialect.name}`];
  const parsed = parseOptions(table, [...argv, `--root-dir=${directory}`], { program: 'p' });
  if (parsed.kind !== 'run') throw new Error(parsed.kind);
  const text = JSON.stringify({ apiVersion: configApiVersion(dialect), kind: configKind(dialect), ...fields });
  const { values, settings } = applyConfig(table, parsed, { text, source: 'file', dialect });
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect, clock, resources: testResources });
  const logind = new FakeLogind();
  const metrics = new Registry();
  const context = { dialect, log: silentLogger, isSimulated: false, logind };
  const runtime = newSimulatedRuntime(clock, dialect);
  const dependencies = { metrics, ...shutdownDependencies(settings, context) };
  const fixture = startAgent({ clock, api, runtime, values, dialect, dependencies });
  t.teardown(async () => {
    let isOver = false;
    const stopped = fixture.stop().finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await stopped;
    await rm(directory, { recursive: true });
  });
  await clock.advanceUntil(() => api.list(leases).length > 0);
  const seed = (name: string, spec: Partial<PodSpec> = {}) => api.seed(pods, testPod(name, spec));
  const status = (name: string) => api.get(pods, `default/${name}`)?.status;
  const ready = () => api.list(nodes)[0]?.status?.conditions?.find(({ type }) => type === 'Ready');
  return { api, clock, logind, metrics, directory, seed, status, ready };
}

for (const [dialect, agent] of [
  [orchDialect, 'nodeagent'],
  [kubernetesDialect, 'kubelet'],
] as const) {
  t.test(`pods end by the periods of the file, ${dialect.name} dialect`, async (t) => {
    const fields = { shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '10s' };
    const { api, clock, logind, metrics, directory, seed, status, ready } = await agentWith(t, fields, dialect);
    seed('web');
    seed('critical', { priority: 2_000_000_000 });
    seed('other');
    const names = ['web', 'critical', 'other'];
    await clock.advanceUntil(() => names.every((name) => status(name)?.phase === 'Running'));
    t.equal(logind.held, 1, 'the lock');
    t.ok(logind.calls.includes('override 30000'), 'the delay of logind');

    logind.signal(true);
    await clock.advanceUntil(() => logind.held === 0);
    for (const name of names) t.match(status(name), ended, `${name} has ended before the machine`);
    const condition = { status: 'False', message: 'node is shutting down' };
    const reason = `${agent.slice(0, 1).toUpperCase()}${agent.slice(1)}NotReady`;
    await clock.advanceUntil(() => ready()?.status === 'False');
    t.match(ready(), { ...condition, reason }, 'the node is not ready');
    const shown = await metrics.metrics();
    const started = Number(new RegExp(`^${agent}_graceful_shutdown_start_time_seconds (\\d+)$`, 'm').exec(shown)?.[1]);
    const over = Number(new RegExp(`^${agent}_graceful_shutdown_end_time_seconds (\\d+)$`, 'm').exec(shown)?.[1]);
    t.ok(started > 1_651_536_000 - 1 && over >= started, 'metrics');
    t.match(JSON.parse(await readFile(join(directory, 'graceful_node_shutdown_state'), 'utf8')), {
      startTime: /^2022-05-03T/,
      endTime: /^2022-05-03T/,
    });

    seed('late');
    await clock.advanceUntil(() => status('late')?.phase === 'Failed');
    const refused = { reason: 'NodeShutdown', message: 'Pod Pod was rejected as the node is shutting down.' };
    t.match(status('late'), refused, 'a new pod is refused, with the words of 1.24');
    await clock.advance(5000);
    const recorded = api.list(events).map((event) => `${event.involvedObject.kind} ${event.reason}`);
    t.ok(recorded.includes('Node NodeShutdown'), 'the event of the node');
    t.notOk(recorded.includes('Pod Terminated'), 'pods have no event of their own');

    logind.signal(false);
    await clock.advanceUntil(() => ready()?.status === 'True');
    t.equal(logind.held, 1, 'after a cancellation the lock is held again');
    seed('next');
    await clock.advanceUntil(() => status('next')?.phase === 'Running');
    t.match(status('next'), running, 'pods start again');
  });
}

t.test('periods by priority replace the others', async (t) => {
  const shutdownGracePeriodByPodPriority = [
    { priority: 1000, shutdownGracePeriodSeconds: 5 },
    { priority: 0, shutdownGracePeriodSeconds: 60 },
  ];
  const { clock, logind, seed, status } = await agentWith(t, { shutdownGracePeriodByPodPriority });
  t.ok(logind.calls.includes('override 65000'), 'the sum');
  seed('low', { priority: 7 });
  seed('high', { priority: 1000 });
  await clock.advanceUntil(() => status('low')?.phase === 'Running' && status('high')?.phase === 'Running');
  logind.signal(true);
  await clock.advanceUntil(() => status('low')?.phase === 'Failed');
  await clock.advanceUntil(() => logind.held === 0);
  t.match(status('high'), ended, 'the higher priority ends, too');
});

t.test('without periods, or without the gate, nothing watches shutdowns', async (t) => {
  const off = { featureGates: { GracefulNodeShutdown: false } };
  for (const fields of [{}, { shutdownGracePeriod: '0s' }, off]) {
    const { logind } = await agentWith(t, fields);
    t.same(logind.calls, [], JSON.stringify(fields));
  }
});

t.test('a simulated node says that it has no shutdowns', async (t) => {
  const warnings: string[] = [];
  const log = { ...silentLogger, warn: (text: string) => void warnings.push(text) } as typeof silentLogger;
  const settings = {
    ...{ shutdownGracePeriod: 30_000, shutdownGracePeriodCriticalPods: 0, shutdownGracePeriodByPodPriority: [] },
    showHiddenMetricsForVersion: '',
  };
  t.same(shutdownDependencies(settings, { dialect: orchDialect, log, isSimulated: true }), {}, 'nothing is watched');
  t.match(warnings, [/^field shutdownGracePeriod has no effect: a simulated node/], 'a warning');
});
