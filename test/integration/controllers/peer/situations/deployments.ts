/** Rollouts of Deployments. */
import {
  create,
  deployment,
  patch,
  pods,
  podTemplate,
  readyOneByOne,
  remove,
  replicaSet,
  situation,
  wait,
} from '#test/integration/controllers/peer/manifests.js';
import type { Json, JsonObject, Situation, Step } from '#test/integration/controllers/peer/situation.js';

const image = (value: string): Json => ({
  spec: { template: { spec: { containers: [{ name: 'c', image: value }] } } },
});
const roll = (value: string): Step => patch('Deployment/web', image(value), { type: 'strategic' });
const spec = (body: JsonObject): Step => patch('Deployment/web', { spec: body });
const ready = pods('ready');

/** Replicas, maxSurge and maxUnavailable. */
const rolling: readonly [replicas: number, maxSurge: number | string, maxUnavailable: number | string][] = [
  [3, 1, 0],
  [3, 0, 1],
  [3, 1, 1],
  [4, '25%', '25%'],
  [4, '50%', '50%'],
  [4, '100%', 0],
  [4, 0, '100%'],
  [2, '30%', '30%'],
  [5, 2, 2],
  [3, 3, 3],
  [1, 1, 0],
  [1, 0, 1],
  [0, 1, 1],
];

const strategies: readonly Situation[] = rolling.map(([replicas, maxSurge, maxUnavailable]) =>
  situation(
    `deployment/rolling-${replicas}-${maxSurge}-${maxUnavailable}`.replaceAll('%', 'p'),
    create(
      deployment('web', { replicas, strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } } }),
    ),
    ready,
    roll('i:2'),
    readyOneByOne(replicas + 1),
  ),
);

/** Changes during the rollout of the second revision. */
const mutations: Readonly<Record<string, readonly Step[]>> = {
  'scale-up': [spec({ replicas: 8 }), ready, readyOneByOne(3)],
  'scale-down': [spec({ replicas: 2 }), ready, readyOneByOne(2)],
  'scale-to-none': [spec({ replicas: 0 })],
  'third-revision': [roll('i:3'), readyOneByOne(5)],
  'back-to-the-first': [roll('i:1'), readyOneByOne(4)],
  pause: [spec({ paused: true }), roll('i:3'), spec({ replicas: 6 }), ready, spec({ paused: false }), readyOneByOne(7)],
  recreate: [spec({ strategy: { type: 'Recreate', rollingUpdate: null } }), roll('i:3'), ready],
  'more-surge': [spec({ strategy: { rollingUpdate: { maxSurge: 4 } } }), readyOneByOne(3)],
  'no-history': [spec({ revisionHistoryLimit: 0 }), readyOneByOne(4)],
  'delete-background': [remove('Deployment/web', 'Background')],
  'delete-orphan': [remove('Deployment/web', 'Orphan')],
  'delete-foreground': [remove('Deployment/web', 'Foreground')],
  'unready-old': [pods('unready', { first: 2 }), readyOneByOne(5)],
  'pods-lost': [pods('deleted', { first: 2 }), readyOneByOne(6)],
  annotation: [patch('Deployment/web', { metadata: { annotations: { 'example.com/a': 'b' } } }), readyOneByOne(1)],
  'change-cause': [patch('Deployment/web', { metadata: { annotations: { 'kubernetes.io/change-cause': 'me' } } })],
  'min-ready': [spec({ minReadySeconds: 2 }), readyOneByOne(1), wait(3), readyOneByOne(1), wait(3)],
};

const inTheMiddle: readonly Situation[] = Object.entries(mutations).map(([name, steps]) =>
  situation(
    `deployment/middle-${name}`,
    create(deployment('web', { replicas: 4, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } } })),
    ready,
    roll('i:2'),
    readyOneByOne(1),
    ...steps,
  ),
);

const twoSets = [
  replicaSet('web-old', { replicas: 2, selector: { matchLabels: { app: 'web' } } }, podTemplate('web', {}, {})),
];

const others: readonly Situation[] = [
  situation(
    'deployment/recreate',
    create(deployment('web', { replicas: 3, strategy: { type: 'Recreate' } })),
    ready,
    roll('i:2'),
    ready,
    roll('i:3'),
    ready,
  ),
  situation(
    'deployment/recreate-lingering-pods',
    create(
      deployment(
        'web',
        { replicas: 2, strategy: { type: 'Recreate' } },
        podTemplate('web', { terminationGracePeriodSeconds: 30 }, { lingers: 'yes' }),
      ),
    ),
    ready,
    roll('i:2'),
  ),
  situation(
    'deployment/progress-deadline',
    create(deployment('web', { replicas: 1, progressDeadlineSeconds: 2 })),
    wait(4),
    ready,
  ),
  situation(
    'deployment/progress-deadline-rollout',
    create(deployment('web', { replicas: 2, progressDeadlineSeconds: 3 })),
    ready,
    roll('i:2'),
    wait(5),
    roll('i:1'),
  ),
  situation(
    'deployment/progress-deadline-paused',
    create(deployment('web', { replicas: 1, progressDeadlineSeconds: 2, paused: true })),
    wait(3),
    spec({ paused: false }),
    ready,
  ),
  situation(
    'deployment/created-paused',
    create(deployment('web', { replicas: 2, paused: true })),
    roll('i:2'),
    spec({ paused: false }),
    ready,
  ),
  situation(
    'deployment/min-ready',
    create(deployment('web', { replicas: 2, minReadySeconds: 2 })),
    ready,
    wait(3),
    roll('i:2'),
    readyOneByOne(1),
    wait(3),
    readyOneByOne(1),
    wait(3),
  ),
  situation(
    'deployment/history',
    create(deployment('web', { replicas: 1, revisionHistoryLimit: 2 })),
    ...['2', '3', '4', '5'].flatMap((n) => [ready, roll(`i:${n}`)]),
    ready,
  ),
  situation(
    'deployment/history-default',
    create(deployment('web', { replicas: 0 })),
    ...['2', '3', '1', '3'].map((n) => roll(`i:${n}`)),
  ),
  situation('deployment/adopts', create(...twoSets), ready, create(deployment('web', { replicas: 2 })), ready),
  situation(
    'deployment/adopts-same-template',
    create(replicaSet('web-mine', { replicas: 1, selector: { matchLabels: { app: 'web' } } }, podTemplate('web'))),
    ready,
    create(deployment('web', { replicas: 2 })),
    ready,
  ),
  situation(
    'deployment/scale',
    create(deployment('web', { replicas: 1 })),
    ready,
    spec({ replicas: 3 }),
    ready,
    spec({ replicas: 1 }),
    spec({ replicas: 0 }),
  ),
  situation(
    'deployment/labels-changed',
    create(deployment('web', { replicas: 1 })),
    ready,
    patch('Deployment/web', { metadata: { labels: { tier: 'front' } } }),
  ),
  situation(
    'deployment/template-labels',
    create(deployment('web', { replicas: 2 })),
    ready,
    patch('Deployment/web', { spec: { template: { metadata: { labels: { v: '2' }, annotations: { a: 'b' } } } } }),
    readyOneByOne(3),
  ),
  situation(
    'deployment/rollback-annotation',
    create(deployment('web', { replicas: 1 })),
    ready,
    roll('i:2'),
    ready,
    patch('Deployment/web', { metadata: { annotations: { 'deprecated.deployment.rollback.to': '1' } } }),
    ready,
  ),
  situation(
    'deployment/foreground',
    create(deployment('web', { replicas: 2 })),
    ready,
    remove('Deployment/web', 'Foreground'),
  ),
  situation(
    'deployment/orphan',
    create(deployment('web', { replicas: 2 })),
    ready,
    remove('Deployment/web', 'Orphan'),
    wait(15),
    create(deployment('web', { replicas: 3 })),
    ready,
  ),
  situation(
    'deployment/proportional',
    create(deployment('web', { replicas: 10, strategy: { rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } } })),
    ready,
    roll('i:2'),
    spec({ replicas: 15 }),
    spec({ replicas: 7 }),
    ready,
  ),
  situation('deployment/unready-again', create(deployment('web', { replicas: 2 })), ready, pods('unready'), ready),
  situation(
    'deployment/quota',
    create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard: { pods: '1' } } }),
    create(deployment('web', { replicas: 1, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } })),
    ready,
    roll('i:2'),
  ),
];

export const deployments: readonly Situation[] = [...strategies, ...inTheMiddle, ...others];
