import t from 'tap';
import type { ContainerStatus, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { endedStatuses } from '#nodeagent/status/ended-status.js';
import { statusPatch } from '#nodeagent/status/manager.js';
import { type PodStatusInput, podPhase, podStatus } from '#nodeagent/status/pod-status.js';

const terminated = { terminated: { exitCode: 3, reason: 'Error', message: 'said' } };
const lost = { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } };

function statusOf(old: Partial<ContainerStatus> | undefined, input: Partial<PodStatusInput>, restartPolicy = 'Always') {
  const pod: Pod = {
    metadata: { name: 'p', uid: 'u' },
    spec: { containers: [{ name: 'main', image: 'app' }], restartPolicy },
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

t.test('a container that the runtime lost keeps its state or counts as lost', async (t) => {
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

t.test('a finished pod has no waiting or running containers', async (t) => {
  for (const old of [undefined, { state: { running: {} } }, { state: { waiting: { reason: 'x' } } }]) {
    t.match(statusOf(old, { over: true }), { state: lost });
  }
  t.match(statusOf({ state: terminated }, { over: true }), { state: terminated });
  const again = { state: { waiting: { reason: 'ContainerCreating' } }, lastState: terminated };
  t.match(statusOf(again, { over: true }), { state: terminated }, 'it was to run again, and did not');
});

t.test('after a failed init container, containers wait, and those that may have run are terminated', async (t) => {
  const waits = (name: string) => ({ name, state: { waiting: { reason: 'PodInitializing' } } });
  const failed = { name: 'init-a', state: terminated };
  const done = { name: 'init-b', state: { terminated: { exitCode: 0, reason: 'Completed' } } };
  const lostOne = (name: string) => ({ name, state: lost });
  const restarting = { ...waits('main'), lastState: { terminated: { exitCode: 2 } } };
  const rows: [name: string, init: Partial<ContainerStatus>[], main: object, expected: object[]][] = [
    ['the first failed', [failed, waits('init-b')], waits('main'), [failed, waits('init-b'), waits('main')]],
    [
      'the second was lost',
      [done, { name: 'init-b', state: { running: {} } }],
      waits('main'),
      [done, lostOne('init-b'), waits('main')],
    ],
    [
      'none was seen',
      [waits('init-a'), waits('init-b')],
      waits('main'),
      [lostOne('init-a'), waits('init-b'), waits('main')],
    ],
    ['all are done', [done], waits('main'), [done, lostOne('main')]],
    ['the main one has run', [failed], { name: 'main', state: { running: {} } }, [failed, lostOne('main')]],
    [
      'the main one was to run again',
      [done],
      restarting,
      [done, { name: 'main', state: { terminated: { exitCode: 2 } } }],
    ],
  ];
  for (const [name, init, main, expected] of rows) {
    const ended = endedStatuses({ init: init as ContainerStatus[], main: [main as ContainerStatus] });
    t.match([...ended.init, ...ended.main], expected, name);
  }
  t.same(endedStatuses({ init: [], main: [] }), { init: [], main: [] });
});

t.test('a final termination is never reported differently', async (t) => {
  const succeeded = { terminated: { exitCode: 0, reason: 'Completed' } };
  const created = {
    ...{ id: 'c', metadata: { name: 'main', attempt: 2 }, state: 'CONTAINER_CREATED', image: 'app', imageRef: '' },
    ...{ exitCode: 0, reason: '', message: '', startedAt: 0, finishedAt: 0 },
  };
  const runtime = { uid: 'u', name: 'p', namespace: '', sandboxes: [], containers: [created as never] };
  const waiting = new Map([['main', { reason: 'CrashLoopBackOff', message: '' }]]);
  for (const input of [{ runtime }, { runtime, waiting }, { waiting }]) {
    t.match(statusOf({ state: terminated }, input, 'Never'), { state: terminated, restartCount: 1 });
    t.match(statusOf({ state: succeeded }, input, 'OnFailure'), { state: succeeded, restartCount: 1 });
    t.match(statusOf({ state: terminated }, input, 'OnFailure')?.state, { waiting: {} });
    t.match(statusOf({ state: succeeded }, input)?.state, { waiting: {} });
  }
});

t.test('a restart counts once it has run, as a created container may be removed', async (t) => {
  const run = (attempt: number, state: string) => ({
    ...{ id: `c${attempt}`, metadata: { name: 'main', attempt }, state, image: 'app', imageRef: '' },
    ...{ exitCode: 1, reason: '', message: '', startedAt: 1, finishedAt: 2 },
  });
  const count = (...runs: ReturnType<typeof run>[]) =>
    statusOf(undefined, {
      runtime: { uid: 'u', name: 'p', namespace: '', sandboxes: [], containers: runs as never[] },
    })?.restartCount;
  t.equal(count(run(1, 'CONTAINER_EXITED'), run(0, 'CONTAINER_EXITED')), 1);
  t.equal(count(run(2, 'CONTAINER_CREATED'), run(1, 'CONTAINER_EXITED'), run(0, 'CONTAINER_EXITED')), 1);
  t.equal(count(run(2, 'CONTAINER_RUNNING'), run(1, 'CONTAINER_EXITED')), 2);
  t.equal(count(run(2, 'CONTAINER_CREATED')), 2, 'those before it are gone');
});

t.test('messages share twelve kilobytes, and characters are not split', async (t) => {
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

type Kind = 'running' | 'waiting' | 'backoff' | number;

/** `backoff`: waits after a failed run; a number: an exit code. */
function status(name: string, kind: Kind): ContainerStatus {
  const base = { name, ready: false, restartCount: 0, image: '', imageID: '' };
  if (kind === 'running') return { ...base, state: { running: {} } };
  if (kind === 'waiting') return { ...base, state: { waiting: { reason: 'ContainerCreating' } } };
  if (kind === 'backoff') return { ...base, state: { waiting: {} }, lastState: { terminated: { exitCode: 1 } } };
  return { ...base, state: { terminated: { exitCode: kind } } };
}

const rows: [restartPolicy: string, init: Kind[], main: Kind[], phase: string][] = [
  ['Always', [], ['waiting'], 'Pending'],
  ['Always', [], ['running', 'waiting'], 'Pending'],
  ['Always', [], ['running', 'running'], 'Running'],
  ['Always', [], ['running', 'backoff'], 'Running'],
  ['Always', [], [0, 1], 'Running'],
  ['Always', ['running'], ['waiting'], 'Pending'],
  ['Always', ['backoff'], ['waiting'], 'Pending'],
  ['Always', [0], ['running'], 'Running'],
  ['Never', [1], ['waiting'], 'Failed'],
  ['Never', [], [0, 0], 'Succeeded'],
  ['Never', [], [0, 1], 'Failed'],
  ['Never', [], [0, 'running'], 'Running'],
  ['OnFailure', [], [0], 'Succeeded'],
  ['OnFailure', [], [1], 'Running'],
  ['OnFailure', [], ['backoff'], 'Running'],
];

for (const [restartPolicy, init, main, phase] of rows) {
  t.test(`${restartPolicy} [${init}] [${main}] is ${phase}`, async (t) => {
    const spec = {
      restartPolicy,
      initContainers: init.map((_, i) => ({ name: `i${i}` })),
      containers: main.map((_, i) => ({ name: `c${i}` })),
    } as PodSpec;
    const initStatuses = init.map((kind, i) => status(`i${i}`, kind));
    t.equal(
      podPhase(
        spec,
        initStatuses,
        main.map((kind, i) => status(`c${i}`, kind)),
      ),
      phase,
    );
  });
}

t.test('patches contain changed fields only', async (t) => {
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2022-01-01T00:00:00Z' };
  const other = { type: 'Initialized', status: 'True', lastTransitionTime: '2022-01-01T00:00:00Z' };
  const old = {
    phase: 'Running',
    conditions: [{ ...ready, status: 'False', reason: 'ContainersNotReady' }, other, { type: 'mine', status: 'True' }],
  };
  t.equal(statusPatch(old, structuredClone({ ...old, conditions: old.conditions.slice(0, 2) })), undefined);
  t.same(statusPatch(old, { ...old, conditions: [ready, other], podIP: '10.0.0.2' }), {
    podIP: '10.0.0.2',
    conditions: [{ ...ready, reason: null }],
  });
});
