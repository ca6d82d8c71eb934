/** ReplicaSets and replication controllers: adoption, release, and deletion order. */
import {
  create,
  manifest,
  patch,
  pod,
  pods,
  podTemplate,
  remove,
  replicaSet,
  situation,
  wait,
} from '#test/integration/controllers/peer/manifests.js';
import type { JsonObject, Manifest, Situation, Step } from '#test/integration/controllers/peer/situation.js';

const ready = pods('ready');
const replicas = (count: number): Step => patch('ReplicaSet/web', { spec: { replicas: count } });
const web = { app: 'web' };
const cost = (amount: string): JsonObject => ({
  annotations: { 'controller.kubernetes.io/pod-deletion-cost': amount },
});
const ownedBy = (kind: string, name: string): JsonObject => ({
  ownerReferences: [
    { apiVersion: 'apps/v1', kind, name, uid: '11111111-2222-3333-4444-555555555555', controller: true },
  ],
});

/** Plain pods that a ReplicaSet adopts, and the remaining ones after scaling down. */
const survivors: Readonly<Record<string, readonly Step[]>> = {
  'unbound-first': [
    create(pod('a', web), pod('b', web), pod('c', web)),
    pods('ready', { named: 'b' }),
    pods('bound', { named: 'c' }),
  ],
  'pending-first': [create(pod('a', web), pod('b', web)), pods('bound'), pods('ready', { named: 'a' })],
  'unready-first': [create(pod('a', web), pod('b', web)), ready, pods('unready', { named: 'b' })],
  'lower-cost-first': [create(pod('a', web, {}, cost('10')), pod('b', web, {}, cost('-5')), pod('c', web)), ready],
  'cost-of-unready': [
    create(pod('a', web, {}, cost('10')), pod('b', web, {}, cost('-5'))),
    ready,
    pods('unready', { named: 'a' }),
  ],
  'crowded-node-first': [
    create(pod('a', web), pod('b', web), pod('c', web)),
    pods('ready', { named: 'a', node: 'n2' }),
    ready,
  ],
  'newer-first': [create(pod('a', web)), ready, wait(2), create(pod('b', web)), ready],
  'finished-do-not-count': [
    create(pod('a', web, { restartPolicy: 'Never' }), pod('b', web, { restartPolicy: 'Never' })),
    pods('succeeded', { named: 'a' }),
    ready,
  ],
};

const scaledDown: readonly Situation[] = Object.entries(survivors).map(([name, steps]) =>
  situation(`replicaset/survivors-${name}`, ...steps, create(replicaSet('web', { replicas: 1 }))),
);

const many = (count: number): Manifest => replicaSet('web', { replicas: count });

const sets: readonly Situation[] = [
  ...[0, 1, 3, 12].map((count) =>
    situation(`replicaset/scale-from-${count}`, create(many(count)), ready, replicas(2), ready, replicas(0)),
  ),
  situation('replicaset/defaults', create(replicaSet('web'))),
  situation('replicaset/adopts', create(pod('stray', web), pod('other', { app: 'x' })), create(many(2)), ready),
  situation(
    'replicaset/adopts-no-finished',
    create(pod('done', web, { restartPolicy: 'Never' })),
    pods('succeeded'),
    create(many(1)),
  ),
  situation(
    'replicaset/leaves-owned-pods',
    create(pod('owned', web, {}, ownedBy('ReplicaSet', 'gone'))),
    create(many(1)),
  ),
  situation(
    'replicaset/releases',
    create(many(2)),
    ready,
    patch('ReplicaSet/web', { metadata: { labels: { x: 'y' } } }),
    create(pod('stray', web)),
  ),
  situation(
    'replicaset/pod-relabelled',
    create(pod('stray', web)),
    create(many(1)),
    patch('Pod/stray', { metadata: { labels: { app: 'away' } } }),
  ),
  situation(
    'replicaset/pod-comes-back',
    create(pod('stray', web)),
    create(many(1)),
    patch('Pod/stray', { metadata: { labels: { app: 'away' } } }),
    patch('Pod/stray', { metadata: { labels: web } }),
  ),
  situation('replicaset/pod-failed', create(replicaSet('web', { replicas: 1 })), pods('failed'), ready),
  situation('replicaset/pod-deleted', create(many(2)), ready, pods('deleted', { first: 1 }), ready),
  situation(
    'replicaset/pod-lingers',
    create(
      replicaSet('web', { replicas: 2 }, podTemplate('web', { terminationGracePeriodSeconds: 30 }, { lingers: 'yes' })),
    ),
    ready,
    pods('deleted', { first: 1 }),
    replicas(1),
  ),
  situation(
    'replicaset/min-ready',
    create(replicaSet('web', { replicas: 2, minReadySeconds: 2 })),
    ready,
    wait(3),
    pods('unready', { first: 1 }),
  ),
  situation(
    'replicaset/quota',
    create(manifest('v1', 'ResourceQuota', 'q', { spec: { hard: { pods: '2' } } })),
    create(many(4)),
    patch('ResourceQuota/q', { spec: { hard: { pods: '4' } } }),
    patch('ReplicaSet/web', { metadata: { labels: { a: 'b' } } }),
  ),
  situation(
    'replicaset/invalid-pods',
    create(replicaSet('web', { replicas: 1 }, podTemplate('web', { serviceAccountName: 'absent' }))),
  ),
  situation(
    'replicaset/labels-of-template',
    create(replicaSet('web', { replicas: 1 }, podTemplate('web', {}, { extra: 'yes' }))),
    ready,
    patch('ReplicaSet/web', { spec: { template: { metadata: { labels: { extra: 'no' } } } } }),
  ),
  situation(
    'replicaset/two-select-the-same',
    create(replicaSet('one', { replicas: 1, selector: { matchLabels: web } }, podTemplate('web'))),
    create(replicaSet('two', { replicas: 1, selector: { matchLabels: web } }, podTemplate('web'))),
    ready,
  ),
  ...(['Background', 'Foreground', 'Orphan'] as const).map((policy) =>
    situation(`replicaset/delete-${policy.toLowerCase()}`, create(many(2)), ready, remove('ReplicaSet/web', policy)),
  ),
  situation(
    'replicaset/orphans-adopted',
    create(many(2)),
    ready,
    remove('ReplicaSet/web', 'Orphan'),
    create(replicaSet('next', { replicas: 3, selector: { matchLabels: web } }, podTemplate('web'))),
  ),
  situation(
    'replicaset/match-expressions',
    create(
      replicaSet('web', {
        replicas: 1,
        selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'www'] }] },
      }),
    ),
    create(pod('stray', { app: 'www' })),
    ready,
  ),
];

const controller = (count: number): Manifest =>
  manifest('v1', 'ReplicationController', 'web', {
    spec: { replicas: count, selector: web, template: podTemplate('web') },
  });

const controllers: readonly Situation[] = [
  situation(
    'replicationcontroller/scale',
    create(controller(2)),
    ready,
    patch('ReplicationController/web', { spec: { replicas: 1 } }),
    patch('ReplicationController/web', { spec: { replicas: 3 } }),
  ),
  situation('replicationcontroller/adopts', create(pod('stray', web)), create(controller(2)), ready),
  situation(
    'replicationcontroller/quota',
    create(manifest('v1', 'ResourceQuota', 'q', { spec: { hard: { pods: '1' } } })),
    create(controller(2)),
  ),
  ...(['Background', 'Foreground', 'Orphan'] as const).map((policy) =>
    situation(
      `replicationcontroller/delete-${policy.toLowerCase()}`,
      create(controller(1)),
      ready,
      remove('ReplicationController/web', policy),
    ),
  ),
];

export const replicaSets: readonly Situation[] = [...scaledDown, ...sets, ...controllers];
