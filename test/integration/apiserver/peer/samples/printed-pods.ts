import { smallPodSpec } from '#test/integration/apiserver/peer/samples/pod-spec.js';
import type { PrintedSamples } from '#test/integration/apiserver/peer/samples/sample.js';

const long = '2020-01-01T00:00:00Z';
const image = { image: 'a', imageID: 'a' };
const two = {
  ...smallPodSpec,
  containers: [
    { name: 'main', image: 'a' },
    { name: 'other', image: 'b' },
  ],
};
const prepared = {
  ...smallPodSpec,
  initContainers: [
    { name: 'first', image: 'a' },
    { name: 'second', image: 'b' },
  ],
};
const running = { running: { startedAt: long } };
const ended = (more: object) => ({ terminated: { exitCode: 0, startedAt: long, finishedAt: long, ...more } });
const container = (name: string, state: object, more: object = {}) => ({
  name,
  ...image,
  ready: false,
  restartCount: 0,
  state,
  ...more,
});
const ready = { ready: true, started: true };
const isReady = [{ type: 'Ready', status: 'True' }];

const ofContainers = (spec: object, ...containerStatuses: object[]) => ({
  spec,
  status: { phase: 'Running', containerStatuses },
});
const ofInit = (...initContainerStatuses: object[]) => ({
  spec: prepared,
  status: { phase: 'Pending', initContainerStatuses },
});

export const printedPods: PrintedSamples = {
  running: {
    spec: {
      ...two,
      nodeName: 'n1',
      readinessGates: [{ conditionType: 'example.com/a' }, { conditionType: 'example.com/b' }],
    },
    status: {
      phase: 'Running',
      podIP: '10.1.2.3',
      podIPs: [{ ip: '10.1.2.3' }, { ip: 'fd00::3' }],
      hostIP: '192.0.2.1',
      nominatedNodeName: 'n2',
      startTime: long,
      conditions: [
        { type: 'example.com/a', status: 'True' },
        { type: 'example.com/b', status: 'False' },
      ],
      containerStatuses: [
        container('main', running, {
          ...ready,
          restartCount: 3,
          lastState: ended({ exitCode: 1, reason: 'Error' }),
        }),
        container('other', running),
      ],
    },
  },
  pending: { status: { phase: 'Pending' } },
  unknown: { status: { phase: 'Unknown' } },
  'not pulled': ofContainers(smallPodSpec, container('main', { waiting: { reason: 'ImagePullBackOff' } })),
  'waiting without a reason': ofContainers(smallPodSpec, container('main', { waiting: {} })),
  completed: { status: { phase: 'Succeeded', containerStatuses: [container('main', ended({ reason: 'Completed' }))] } },
  failed: { status: { phase: 'Failed', containerStatuses: [container('main', ended({ exitCode: 3 }))] } },
  killed: ofContainers(smallPodSpec, container('main', ended({ exitCode: 137, signal: 9 }))),
  evicted: { status: { phase: 'Failed', reason: 'Evicted', message: 'too much' } },
  'half completed': ofContainers(
    two,
    container('main', ended({ reason: 'Completed' })),
    container('other', running, ready),
  ),
  'half completed and ready': {
    spec: two,
    status: {
      phase: 'Running',
      conditions: isReady,
      containerStatuses: [
        container('main', ended({ reason: 'Completed' })),
        container('other', running, { ...ready, restartCount: 2 }),
      ],
    },
  },
  'init waits': ofInit(container('first', { waiting: { reason: 'PodInitializing' } })),
  'init is not pulled': ofInit(container('first', { waiting: { reason: 'ErrImagePull' } })),
  'init half done': ofInit(
    container('first', ended({}), { restartCount: 4, lastState: ended({ exitCode: 1 }) }),
    container('second', running),
  ),
  'init failed': ofInit(container('first', ended({ exitCode: 1, reason: 'Error' }))),
  'init failed without a reason': ofInit(container('first', ended({ exitCode: 5 }))),
  'init killed': ofInit(container('first', ended({ exitCode: 137, signal: 9 }))),
  'with a scheduling gate of others': { status: { phase: 'Pending', reason: 'SchedulingGated' } },
  'with a node that is lost': { spec: { ...smallPodSpec, nodeName: 'n1' }, status: { reason: 'NodeLost' } },
};
