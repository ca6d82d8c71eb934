import t from 'tap';
import type { ContainerStatus, Pod } from '#api/core/v1/types.gen.js';
import type { PodStatusInput } from '#nodeagent/status/pod-status.js';
import { podStatus } from '#nodeagent/status/pod-status.js';

const terminated = { terminated: { exitCode: 3, reason: 'Error', message: 'said' } };
const lost = { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } };

function statusOf(old: Partial<ContainerStatus> | undefined, input: Partial<PodStatusInput>) {
  const pod: Pod = {
    metadata: { name: 'p', uid: 'u' },
    spec: { containers: [{ name: 'main', image: 'app' }] },
    status: {
      containerStatuses:
        old === undefined ? [] : [{ name: 'main', image: 'app', imageID: '', ready: false, restartCount: 1, ...old }],
    },
  };
  const never = () => false;
  const { containerStatuses = [] } = podStatus({
    pod,
    runtime: { uid: 'u', name: 'p', namespace: '', sandboxes: [], containers: [] },
    runtimeName: 'test',
    waiting: new Map(),
    terminationMessages: new Map(),
    isStarted: never,
    isReady: never,
    initialized: true,
    hostIPs: [],
    now: 0,
    over: false,
    ...input,
  });
  return containerStatuses[0];
}

t.test('a container that the runtime does not know', async (t) => {
  const waiting = { state: { waiting: { reason: 'ContainerCreating' } } };
  t.match(statusOf(undefined, {}), waiting);
  t.match(statusOf({ state: terminated }, {}), { state: terminated, restartCount: 1 }, 'keeps its end');
  const backOff = new Map([['main', { reason: 'CrashLoopBackOff', message: '' }]]);
  t.match(statusOf({ state: terminated }, { waiting: backOff }), {
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: terminated,
  });
  const running = { state: { running: { startedAt: '2022-05-03T00:00:00Z' } } };
  t.match(statusOf(running, {}), { ...waiting, lastState: lost, restartCount: 1 });
});

t.test('a pod that is over has no container that waits or runs', async (t) => {
  for (const old of [undefined, { state: { running: {} } }, { state: { waiting: { reason: 'x' } } }]) {
    t.match(statusOf(old, { over: true }), { state: lost });
  }
  t.match(statusOf({ state: terminated }, { over: true }), { state: terminated });
});

t.test('messages share twelve kilobytes, and no character is cut', async (t) => {
  const container = {
    id: 'c',
    metadata: { name: 'main', attempt: 0 },
    state: 'CONTAINER_EXITED',
    exitCode: 1,
    reason: 'Error',
    message: '',
    startedAt: 1,
    finishedAt: 2,
  };
  const message = (text: string) =>
    statusOf(undefined, {
      runtime: { uid: 'u', name: 'p', namespace: '', sandboxes: [], containers: [container as never] },
      terminationMessages: new Map([['c', text]]),
    })?.state?.terminated?.message;
  t.equal(message('short'), 'short');
  t.equal(message('x'.repeat(20_000))?.length, 12 * 1024);
  t.equal(message(`x${'\u20ac'.repeat(5000)}`), `x${'\u20ac'.repeat(4095)}`);
});
