import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { CheckResult } from '#nodeagent/probes/check-result.js';
import { Prober } from '#nodeagent/probes/prober.js';
import type { PodRuntime, RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';

t.test('a warning is a success that is told', async (t) => {
  const clock = new VirtualClock();
  const told: string[] = [];
  let result: CheckResult = { success: true, isWarning: true, output: 'moved' };
  const prober = new Prober({
    clock,
    events: { container: (...words: unknown[]) => told.push(words.slice(2).join(' ')) } as unknown as PodEvents,
    checker: { check: async () => result },
    onChange: () => undefined,
  });
  t.teardown(() => prober.close());
  const main = { name: 'main', image: 'app', readinessProbe: { httpGet: { port: 80 }, failureThreshold: 1 } };
  const pod: Pod = { metadata: { name: 'p', uid: 'u' }, spec: { containers: [main] } };
  const container: Partial<RuntimeContainer> = {
    ...{ id: 'c', metadata: { name: 'main', attempt: 0 }, state: 'CONTAINER_RUNNING', startedAt: clock.now() },
  };
  const containers = [container as RuntimeContainer];
  const runtime: PodRuntime = { uid: 'u', name: 'p', namespace: '', sandboxes: [], containers };
  prober.sync(pod, runtime);
  await clock.advance(0);
  t.ok(prober.isReady('u', main, 'c'));
  result = { success: false, output: 'gone' };
  await clock.advance(10_000);
  t.notOk(prober.isReady('u', main, 'c'));
  t.same(told, [
    'Warning ProbeWarning Readiness probe warning: moved',
    'Warning Unhealthy Readiness probe failed: gone',
  ]);
});
