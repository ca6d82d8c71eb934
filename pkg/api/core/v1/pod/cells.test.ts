import t from 'tap';
import { podCells } from '#api/core/v1/pod/cells.js';
import type { ContainerStatus, Pod, PodSpec, PodStatus } from '#api/core/v1/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import { humanDuration } from '#api/table/age.js';

const now = Date.parse('2024-06-01T00:00:00Z');

function pod(status: PodStatus, spec: Partial<PodSpec> = {}, metadata: Partial<ObjectMeta> = {}): Pod {
  return {
    metadata: { name: 'p', creationTimestamp: '2024-05-31T23:55:00Z', ...metadata },
    spec: { containers: [{ name: 'a' }, { name: 'b' }], ...spec },
    status,
  };
}

const container = (name: string, rest: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name,
  ready: false,
  restartCount: 0,
  image: '',
  imageID: '',
  ...rest,
});
const running = (name: string, rest: Partial<ContainerStatus> = {}): ContainerStatus =>
  container(name, { ready: true, state: { running: {} }, ...rest });
const ended = (exitCode: number, reason?: string, signal?: number): Partial<ContainerStatus> => ({
  state: { terminated: { exitCode, ...(reason !== undefined && { reason }), ...(signal !== undefined && { signal }) } },
});
const waiting = (reason: string): Partial<ContainerStatus> => ({ state: { waiting: { reason } } });
const twoInits: Partial<PodSpec> = { initContainers: [{ name: 'i' }, { name: 'j' }] };
const crashed = { lastState: { terminated: { exitCode: 1, finishedAt: '2024-05-31T23:50:00Z' } } };

t.test('ready, status and restarts', (t) => {
  const rows: [string, Pod, string, string, string][] = [
    ['new', pod({ phase: 'Pending' }), '0/2', 'Pending', '0'],
    ['reason of the pod', pod({ phase: 'Failed', reason: 'Evicted' }), '0/2', 'Evicted', '0'],
    ['running', pod({ phase: 'Running', containerStatuses: [running('a'), running('b')] }), '2/2', 'Running', '0'],
    [
      'one not ready',
      pod({ phase: 'Running', containerStatuses: [running('a'), running('b', { ready: false })] }),
      '1/2',
      'Running',
      '0',
    ],
    [
      'creating',
      pod({ phase: 'Pending', containerStatuses: [container('a', waiting('ContainerCreating'))] }),
      '0/2',
      'ContainerCreating',
      '0',
    ],
    [
      'crash loop',
      pod({
        phase: 'Running',
        containerStatuses: [container('a', { ...waiting('CrashLoopBackOff'), restartCount: 2, ...crashed })],
      }),
      '0/2',
      'CrashLoopBackOff',
      '2 (10m ago)',
    ],
    [
      'the first container has the last word',
      pod({ containerStatuses: [container('a', waiting('A')), container('b', waiting('B'))] }),
      '0/2',
      'A',
      '0',
    ],
    [
      'completed',
      pod({ phase: 'Succeeded', containerStatuses: [container('a', ended(0, 'Completed'))] }),
      '0/2',
      'Completed',
      '0',
    ],
    [
      'exit code without reason',
      pod({ phase: 'Failed', containerStatuses: [container('a', ended(3))] }),
      '0/2',
      'ExitCode:3',
      '0',
    ],
    [
      'signal',
      pod({ phase: 'Failed', containerStatuses: [container('a', ended(137, undefined, 9))] }),
      '0/2',
      'Signal:9',
      '0',
    ],
    [
      'one completed, one running and ready',
      pod({
        phase: 'Running',
        conditions: [{ type: 'Ready', status: 'True' }],
        containerStatuses: [container('a', ended(0, 'Completed')), running('b')],
      }),
      '1/2',
      'Running',
      '0',
    ],
    [
      'one completed, one running',
      pod({ phase: 'Running', containerStatuses: [container('a', ended(0, 'Completed')), running('b')] }),
      '1/2',
      'NotReady',
      '0',
    ],
    [
      'restarts add up',
      pod({
        phase: 'Running',
        containerStatuses: [running('a', { restartCount: 1 }), running('b', { restartCount: 2 })],
      }),
      '2/2',
      'Running',
      '3',
    ],
    [
      'first init container',
      pod({ phase: 'Pending', initContainerStatuses: [container('i', { state: { running: {} } })] }, twoInits),
      '0/2',
      'Init:0/2',
      '0',
    ],
    [
      'second init container',
      pod(
        {
          phase: 'Pending',
          initContainerStatuses: [container('i', ended(0)), container('j', waiting('PodInitializing'))],
        },
        twoInits,
      ),
      '0/2',
      'Init:1/2',
      '0',
    ],
    [
      'init container waits for a reason',
      pod({ initContainerStatuses: [container('i', waiting('ImagePullBackOff'))] }, twoInits),
      '0/2',
      'Init:ImagePullBackOff',
      '0',
    ],
    [
      'init container failed',
      pod({ initContainerStatuses: [container('i', ended(1, 'Error'))] }, twoInits),
      '0/2',
      'Init:Error',
      '0',
    ],
    [
      'init container failed without reason',
      pod({ initContainerStatuses: [container('i', ended(1))] }, twoInits),
      '0/2',
      'Init:ExitCode:1',
      '0',
    ],
    [
      'init container killed',
      pod({ initContainerStatuses: [container('i', ended(1, undefined, 9))] }, twoInits),
      '0/2',
      'Init:Signal:9',
      '0',
    ],
    [
      'init done',
      pod(
        {
          phase: 'Running',
          initContainerStatuses: [container('i', { ...ended(0), restartCount: 5 })],
          containerStatuses: [running('a')],
        },
        twoInits,
      ),
      '1/2',
      'Running',
      '0',
    ],
    [
      'deleted',
      pod({ phase: 'Running' }, {}, { deletionTimestamp: '2024-05-31T23:59:59Z' }),
      '0/2',
      'Terminating',
      '0',
    ],
    [
      'deleted on a lost node',
      pod({ reason: 'NodeLost' }, {}, { deletionTimestamp: '2024-05-31T23:59:59Z' }),
      '0/2',
      'Unknown',
      '0',
    ],
  ];
  for (const [name, object, ready, status, restarts] of rows) {
    t.strictSame(podCells(object, now).slice(0, 5), ['p', ready, status, restarts, '5m'], name);
  }
  t.end();
});

t.test('wide columns', (t) => {
  t.strictSame(podCells(pod({}), now).slice(5), ['<none>', '<none>', '<none>', '<none>']);
  const full = pod(
    { podIPs: [{ ip: '10.1.0.2' }], nominatedNodeName: 'm', conditions: [{ type: 'x.io/a', status: 'True' }] },
    { nodeName: 'n', readinessGates: [{ conditionType: 'x.io/a' }, { conditionType: 'x.io/b' }] },
  );
  t.strictSame(podCells(full, now).slice(5), ['10.1.0.2', 'n', 'm', '1/2']);
  t.end();
});

t.test('durations for people', (t) => {
  const s = 1000;
  const m = 60 * s;
  const h = 60 * m;
  const d = 24 * h;
  const rows: [number, string][] = [
    [-3 * s, '<invalid>'],
    [-1500, '0s'],
    [0, '0s'],
    [119 * s, '119s'],
    [120 * s, '2m'],
    [121 * s, '2m1s'],
    [10 * m + s, '10m'],
    [179 * m, '179m'],
    [180 * m, '3h'],
    [7 * h + 59 * m, '7h59m'],
    [8 * h + m, '8h'],
    [47 * h, '47h'],
    [48 * h, '2d'],
    [49 * h, '2d1h'],
    [8 * d, '8d'],
    [729 * d, '729d'],
    [730 * d, '2y'],
    [731 * d, '2y1d'],
    [8 * 365 * d, '8y'],
  ];
  for (const [ms, want] of rows) t.equal(humanDuration(ms), want, want);
  t.end();
});
