/** The timing of a node's work is unaffected when its wall clock changes by a day. */
import t from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { newSimulatedRuntime, startAgent, testPod, testResources } from '#nodeagent/testing/agent-fixture.js';

const dayMs = 86_400_000;
const prefix = 'sim.orch.io/';
const main = { name: 'main', image: 'docker.io/test/app:1.0' };
const probe = { httpGet: { path: '/', port: 80 }, periodSeconds: 5, failureThreshold: 2 };

const scenario = [
  testPod('lost', { containers: [main] }, { [`${prefix}pull-failure`]: 'no such image' }),
  testPod('never', { containers: [{ ...main, image: 'Not An Image' }] }),
  testPod('crashing', { containers: [main] }, { [`${prefix}exit-after`]: '5s', [`${prefix}exit-code`]: '1' }),
  testPod('broken', { containers: [main] }, { [`${prefix}start-failure`]: 'no such file' }),
  testPod('late', {
    containers: [
      {
        ...main,
        startupProbe: { ...probe, initialDelaySeconds: 20 },
        readinessProbe: { ...probe, initialDelaySeconds: 90 },
      },
    ],
  }),
  testPod('sick', { containers: [{ ...main, livenessProbe: probe }] }, { [`${prefix}unhealthy-after`]: '30s' }),
  testPod('short', { activeDeadlineSeconds: 300, containers: [main] }),
];

/** The pod statuses in the API over time, while the clock is changed by each of `byMs` in turn. */
async function course(byMs: readonly number[]): Promise<string[]> {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect: orchDialect, clock, resources: testResources });
  const fixture = startAgent({ clock, api, runtime: newSimulatedRuntime(clock) });
  await clock.advanceUntil(() => api.list(leases).length > 0);
  await clock.advance(10_000 - (clock.monotonic() % 10_000));
  const start = clock.monotonic();
  for (const pod of scenario) api.seed(pods, structuredClone(pod));
  const lines: string[] = [];
  const last = new Map<string, string>();
  for (let second = 1; second <= 600; second++) {
    await clock.advance(1000);
    if (second % 45 === 0) clock.setWallClock(byMs[(second / 45) % byMs.length] ?? 0);
    for (const { metadata, status } of api.list(pods)) {
      const container = status?.containerStatuses?.[0];
      const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
      const { restartCount, started, state } = container ?? {};
      const fields = [status?.phase, ready, restartCount, started, state?.waiting?.reason, status?.reason].join(' ');
      if (last.get(metadata.name ?? '') === fields) continue;
      last.set(metadata.name ?? '', fields);
      lines.push(`${Math.round((clock.monotonic() - start) / 1000)} s ${metadata.name}: ${fields}`);
    }
  }
  await fixture.stop();
  return lines.sort();
}

t.test('starts, back-offs, probes and deadlines keep their timing', async (t) => {
  const usual = await course([0]);
  t.ok(usual.length > 30, `${usual.length} changes`);
  t.same(await course([0]), usual, 'the same each time');
  t.same(await course([dayMs]), usual, 'set forward');
  t.same(await course([-dayMs]), usual, 'set back');
  t.same(await course([dayMs, -dayMs]), usual, 'both');
});
