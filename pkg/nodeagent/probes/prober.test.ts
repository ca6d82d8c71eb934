import t, { type Test } from 'tap';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { CheckResult } from '#nodeagent/probes/check-result.js';
import { Prober } from '#nodeagent/probes/prober.js';
import type { PodRuntime, RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';

type ProbeName = 'startup' | 'liveness' | 'readiness';
type Probes = Pick<Container, 'startupProbe' | 'livenessProbe' | 'readinessProbe'>;

const good: CheckResult = { success: true, output: '' };
const bad: CheckResult = { success: false, output: 'no' };

/** Each probe has its own port, by which the checker tells them apart. */
const ports: Readonly<Record<ProbeName, number>> = { startup: 1, liveness: 2, readiness: 3 };
const handler = (name: ProbeName) => ({ tcpSocket: { port: ports[name] } });

/** A container with these probes. `answer` gives the result of the nth check of a probe, from 0. */
function probing(t: Test, probes: Probes, answer: (probe: ProbeName, n: number) => CheckResult = () => good) {
  const clock = new VirtualClock();
  const messages: string[] = [];
  const checks: string[] = [];
  let changes = 0;
  const prober = new Prober({
    clock,
    random: () => 0.5,
    events: { container: (...words: unknown[]) => messages.push(words.slice(2).join(' ')) } as unknown as PodEvents,
    checker: {
      async check(probe) {
        const names = Object.keys(ports) as ProbeName[];
        const name = names.find((each) => ports[each] === probe.tcpSocket?.port) ?? 'readiness';
        const n = checks.filter((line) => line.startsWith(name)).length;
        checks.push(`${name} ${clock.monotonic() / 1000}`);
        return answer(name, n);
      },
    },
    onChange: () => {
      changes += 1;
    },
  });
  t.teardown(() => prober.close());
  const main: Container = { name: 'main', image: 'app', ...probes };
  const pod: Pod = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [main] } };
  const run = (id: string, status?: NonNullable<Pod['status']>, agoMs = 0) => {
    const container: Partial<RuntimeContainer> = {
      ...{ id, metadata: { name: 'main', attempt: 0 }, state: 'CONTAINER_RUNNING', startedAt: clock.now() - agoMs },
    };
    const containers = [container as RuntimeContainer];
    const runtime: PodRuntime = { uid: 'u', name: 'p', namespace: 'n', sandboxes: [], containers };
    prober.sync(status === undefined ? pod : { ...pod, status }, runtime);
  };
  /** The times of a probe's checks, in seconds. */
  const times = (name: ProbeName) =>
    checks.filter((line) => line.startsWith(name)).map((line) => Number(line.split(' ')[1]));
  return {
    ...{ clock, prober, messages, run, times },
    changes: () => changes,
    isReady: (id = 'c') => prober.isReady('u', main, id),
    isStarted: (id = 'c') => prober.isStarted('u', main, id),
    verdict: (id = 'c') => prober.verdicts('u').get(id),
  };
}

t.test('a warning is a reported success, and an unperformed check is ignored', async (t) => {
  const answers: CheckResult[] = [
    { success: true, isWarning: true, output: 'moved' },
    { success: false, isUnknown: true, output: 'no connection' },
    { success: false, output: 'gone' },
  ];
  const probes = { readinessProbe: { ...handler('readiness'), failureThreshold: 1 } };
  const { clock, messages, run, isReady } = probing(t, probes, (_, n) => answers[n] ?? good);
  run('c');
  await clock.advance(0);
  t.ok(isReady());
  await clock.advance(10_000);
  t.ok(isReady());
  await clock.advance(10_000);
  t.notOk(isReady());
  t.same(messages, [
    'Warning ProbeWarning Readiness probe warning: moved',
    'Warning Unhealthy Readiness probe errored: no connection',
    'Warning Unhealthy Readiness probe failed: gone',
  ]);
});

t.test('a probe starts after its delay and checks once per period', async (t) => {
  const readinessProbe = { ...handler('readiness'), initialDelaySeconds: 3, periodSeconds: 5 };
  const { clock, run, times, isReady, changes } = probing(t, { readinessProbe });
  run('c');
  await clock.advance(2999);
  t.notOk(isReady(), 'not before it has said so');
  await clock.advance(12_001);
  t.same(times('readiness'), [3, 8, 13]);
  t.ok(isReady());
  t.equal(changes(), 1, 'the same answer changes nothing');
});

t.test('a result changes after as many equal results in a row as the threshold', async (t) => {
  const script = [bad, bad, good, good, bad, bad, good, bad, bad, bad, good];
  const readinessProbe = { ...handler('readiness'), periodSeconds: 1, failureThreshold: 3, successThreshold: 2 };
  const { clock, run, isReady } = probing(t, { readinessProbe }, (_, n) => script[n] ?? good);
  run('c');
  await clock.advance(0);
  const ready: number[] = [];
  for (let second = 0; second < script.length; second++) {
    if (isReady()) ready.push(second);
    await clock.advance(1000);
  }
  t.same(ready, [3, 4, 5, 6, 7, 8]);
});

t.test('a container that fails its liveness probe is condemned once and not probed again', async (t) => {
  const script = [bad, bad, good, bad, bad, bad];
  const livenessProbe = { ...handler('liveness'), periodSeconds: 2, terminationGracePeriodSeconds: 4 };
  const { clock, run, times, verdict, isReady } = probing(t, { livenessProbe }, (_, n) => script[n] ?? good);
  run('c');
  await clock.advance(9999);
  t.equal(verdict(), undefined, 'a success begins the count anew');
  t.ok(isReady(), 'without a probe for it, who runs is ready');
  await clock.advance(1);
  t.same(verdict(), { reason: 'livenessProbe', graceSeconds: 4 });
  await clock.advance(60_000);
  t.equal(times('liveness').length, 6);
  run('next');
  await clock.advance(0);
  t.equal(verdict(), undefined, 'it is gone');
  t.equal(verdict('next'), undefined, 'the next one begins anew');
});

t.test('until a container has started only its startup probe runs, and never again', async (t) => {
  const probes: Probes = {
    startupProbe: { ...handler('startup'), periodSeconds: 4, failureThreshold: 5 },
    livenessProbe: { ...handler('liveness'), periodSeconds: 10 },
    readinessProbe: { ...handler('readiness'), periodSeconds: 10, initialDelaySeconds: 9 },
  };
  const resultOf = (name: ProbeName, n: number) => (name === 'startup' && n < 2 ? bad : good);
  const { clock, run, times, isStarted, isReady } = probing(t, probes, resultOf);
  run('c');
  await clock.advance(7999);
  t.same([isStarted(), isReady(), times('liveness')], [false, false, []]);
  await clock.advance(1);
  t.same([isStarted(), isReady()], [true, false]);
  await clock.advance(12_000);
  t.same([isStarted(), isReady()], [true, true]);
  t.same(times('startup'), [0, 4, 8]);
  t.same(times('liveness'), [8, 18]);
  t.same(times('readiness'), [9, 19], 'the delay counts from the start of the container');
});

t.test('a container that does not start is condemned', async (t) => {
  const startupProbe = { ...handler('startup'), periodSeconds: 1, failureThreshold: 3 };
  const { clock, run, verdict, messages } = probing(t, { startupProbe }, () => bad);
  run('c');
  await clock.advance(1999);
  t.equal(verdict(), undefined);
  await clock.advance(1);
  t.same(verdict(), { reason: 'startupProbe' });
  t.equal(messages.length, 3);
});

t.test('a terminating pod is probed for readiness but not for liveness', async (t) => {
  const probes = { livenessProbe: handler('liveness'), readinessProbe: handler('readiness') };
  const { clock, run, prober, times, verdict } = probing(t, probes, (name, n) =>
    name === 'liveness' && n > 0 ? bad : good,
  );
  run('c');
  await clock.advance(5000);
  prober.stopLiveness('u');
  await clock.advance(60_000);
  t.same(times('liveness'), [0]);
  t.equal(times('readiness').length, 7);
  t.equal(verdict(), undefined);
  const counts = [...prober.counts()].map(({ type, result, count }) => `${type} ${result} ${count}`).sort();
  t.same(counts, ['Liveness successful 1', 'Readiness successful 7']);
  prober.remove('u');
  await clock.advance(60_000);
  t.equal(times('readiness').length, 7);
  t.same([...prober.counts()], []);
});

t.test('a new agent adopts the reported results of the same run', async (t) => {
  const probes: Probes = {
    startupProbe: handler('startup'),
    readinessProbe: { ...handler('readiness'), initialDelaySeconds: 30 },
  };
  const { clock, run, times, isStarted, isReady } = probing(t, probes);
  const reported = { ready: true, started: true, image: '', imageID: '', restartCount: 0, name: 'main' };
  run('c', { containerStatuses: [{ ...reported, containerID: 'containerd://c' }] });
  t.same([isStarted(), isReady()], [true, true]);
  await clock.advance(60_000);
  t.same(times('startup'), []);
  run('other', { containerStatuses: [{ ...reported, containerID: 'containerd://c' }] });
  t.same([isStarted('other'), isReady('other')], [false, false], 'not of another run');
});

t.test('first probes of existing containers are spread out', async (t) => {
  const { clock, run, times } = probing(t, { livenessProbe: { ...handler('liveness'), periodSeconds: 10 } });
  run('c', undefined, 60_000);
  await clock.advance(25_000);
  t.same(times('liveness'), [5, 15, 25]);
});
