/** StatefulSets of both policies, with partitions and claims. */
import {
  create,
  patch,
  pod,
  pods,
  podTemplate,
  readyOneByOne,
  remove,
  situation,
  statefulSet,
  wait,
} from '#test/integration/controllers/peer/manifests.js';
import type { Json, JsonObject, Situation, Step } from '#test/integration/controllers/peer/situation.js';

const ready = pods('ready');
const parallel = { podManagementPolicy: 'Parallel' };
const image = (value: string): Json => ({
  spec: { template: { spec: { containers: [{ name: 'c', image: value }] } } },
});
const roll = (value: string): Step => patch('StatefulSet/db', image(value), { type: 'strategic' });
const spec = (body: JsonObject): Step => patch('StatefulSet/db', { spec: body });
const partition = (value: number): JsonObject => ({
  updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: value } },
});
const onDelete = { updateStrategy: { type: 'OnDelete' } };
const claims = {
  volumeClaimTemplates: [
    {
      metadata: { name: 'data', labels: { a: 'b' } },
      spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'none', resources: { requests: { storage: '1Gi' } } },
    },
  ],
};

const policies = { ordered: {}, parallel } as const;
const both = (name: string, steps: (policy: JsonObject) => readonly Step[]): Situation[] =>
  Object.entries(policies).map(([policy, more]) => situation(`statefulset/${policy}-${name}`, ...steps(more)));

const inBothPolicies: readonly Situation[] = [
  ...both('start', (policy) => [create(statefulSet('db', { replicas: 3, ...policy })), readyOneByOne(3)]),
  ...both('scale', (policy) => [
    create(statefulSet('db', { replicas: 1, ...policy })),
    ready,
    spec({ replicas: 3 }),
    readyOneByOne(2),
    spec({ replicas: 1 }),
    spec({ replicas: 0 }),
  ]),
  ...both('scale-down-unready', (policy) => [
    create(statefulSet('db', { replicas: 3, ...policy })),
    readyOneByOne(3),
    pods('unready', { named: 'db-0' }),
    spec({ replicas: 1 }),
    ready,
  ]),
  ...both('roll', (policy) => [
    create(statefulSet('db', { replicas: 3, ...policy })),
    readyOneByOne(3),
    roll('i:2'),
    readyOneByOne(4),
  ]),
  ...both('roll-with-partition', (policy) => [
    create(statefulSet('db', { replicas: 3, ...policy, ...partition(2) })),
    readyOneByOne(3),
    roll('i:2'),
    readyOneByOne(2),
    spec(partition(0)),
    readyOneByOne(3),
  ]),
  ...both('roll-beyond-partition', (policy) => [
    create(statefulSet('db', { replicas: 2, ...policy, ...partition(5) })),
    readyOneByOne(2),
    roll('i:2'),
    pods('deleted', { named: 'db-1' }),
    ready,
  ]),
  ...both('on-delete', (policy) => [
    create(statefulSet('db', { replicas: 2, ...policy, ...onDelete })),
    readyOneByOne(2),
    roll('i:2'),
    pods('deleted', { named: 'db-0' }),
    ready,
  ]),
  ...both('broken-first', (policy) => [
    create(statefulSet('db', { replicas: 3, ...policy })),
    pods('unready', { named: 'db-0' }),
    pods('failed', { named: 'db-0' }),
    readyOneByOne(2),
  ]),
  ...both('pod-failed', (policy) => [
    create(statefulSet('db', { replicas: 2, ...policy })),
    readyOneByOne(2),
    pods('failed', { named: 'db-0' }),
    ready,
  ]),
  ...both('pod-succeeded', (policy) => [
    create(statefulSet('db', { replicas: 2, ...policy })),
    readyOneByOne(2),
    pods('succeeded', { named: 'db-1' }),
    ready,
  ]),
  ...both('pod-deleted', (policy) => [
    create(statefulSet('db', { replicas: 3, ...policy })),
    readyOneByOne(3),
    pods('deleted', { named: 'db-1' }),
    ready,
  ]),
  ...both('min-ready', (policy) => [
    create(statefulSet('db', { replicas: 2, minReadySeconds: 2, ...policy })),
    ready,
    wait(3),
    ready,
    wait(3),
  ]),
  ...both('claims', (policy) => [
    create(statefulSet('db', { replicas: 2, ...policy, ...claims })),
    readyOneByOne(2),
    spec({ replicas: 1 }),
    spec({ replicas: 2 }),
  ]),
];

const others: readonly Situation[] = [
  situation(
    'statefulset/roll-stuck',
    create(statefulSet('db', { replicas: 2 })),
    readyOneByOne(2),
    roll('i:2'),
    pods('unready'),
    roll('i:3'),
    pods('deleted', { named: 'db-1' }),
    readyOneByOne(3),
  ),
  situation(
    'statefulset/roll-back',
    create(statefulSet('db', { replicas: 2 })),
    readyOneByOne(2),
    roll('i:2'),
    readyOneByOne(2),
    roll('i:1'),
    readyOneByOne(3),
  ),
  situation(
    'statefulset/roll-and-scale',
    create(statefulSet('db', { replicas: 2 })),
    readyOneByOne(2),
    patch('StatefulSet/db', { spec: { replicas: 3, template: { metadata: { labels: { v: '2' } } } } }),
    readyOneByOne(4),
  ),
  situation(
    'statefulset/history',
    create(statefulSet('db', { replicas: 1, revisionHistoryLimit: 1 })),
    ...['2', '3', '4'].flatMap((n) => [ready, roll(`i:${n}`)]),
    ready,
  ),
  situation(
    'statefulset/history-repeats',
    create(statefulSet('db', { replicas: 1 })),
    ...['2', '1', '2'].flatMap((n) => [ready, roll(`i:${n}`)]),
    ready,
  ),
  situation(
    'statefulset/adopts',
    create(pod('db-0', { app: 'db' })),
    create(statefulSet('db', { replicas: 1 })),
    ready,
  ),
  situation(
    'statefulset/leaves-other-names',
    create(pod('other-0', { app: 'db' })),
    create(statefulSet('db', { replicas: 1 })),
    ready,
  ),
  situation('statefulset/name-taken', create(pod('db-0', { app: 'else' })), create(statefulSet('db', { replicas: 1 }))),
  situation(
    'statefulset/pod-relabelled',
    create(statefulSet('db', { replicas: 1 })),
    ready,
    patch('Pod/db-0', { metadata: { labels: { app: 'away' } } }),
  ),
  situation(
    'statefulset/identity-repaired',
    create(statefulSet('db', { replicas: 1 })),
    ready,
    patch('Pod/db-0', { metadata: { labels: { 'statefulset.kubernetes.io/pod-name': 'wrong' } } }),
  ),
  ...(['Background', 'Foreground', 'Orphan'] as const).map((policy) =>
    situation(
      `statefulset/delete-${policy.toLowerCase()}`,
      create(statefulSet('db', { replicas: 2, ...claims })),
      readyOneByOne(2),
      remove('StatefulSet/db', policy),
    ),
  ),
  situation(
    'statefulset/orphans-adopted',
    create(statefulSet('db', { replicas: 2 })),
    readyOneByOne(2),
    remove('StatefulSet/db', 'Orphan'),
    create(statefulSet('db', { replicas: 3 })),
    ready,
  ),
  situation(
    'statefulset/orphans-adopted-other-template',
    create(statefulSet('db', { replicas: 1 })),
    ready,
    remove('StatefulSet/db', 'Orphan'),
    create(statefulSet('db', { replicas: 1 }, podTemplate('db', { containers: [{ name: 'c', image: 'i:2' }] }))),
    ready,
  ),
  situation(
    'statefulset/claims-with-volumes',
    create(
      statefulSet(
        'db',
        { replicas: 1, ...claims },
        podTemplate('db', {
          volumes: [
            { name: 'data', emptyDir: {} },
            { name: 'more', emptyDir: {} },
          ],
        }),
      ),
    ),
    ready,
  ),
  situation(
    'statefulset/claim-lost',
    create(statefulSet('db', { replicas: 1, ...claims })),
    ready,
    remove('PersistentVolumeClaim/data-db-0'),
    pods('deleted'),
  ),
  situation('statefulset/no-service-name', create(statefulSet('db', { replicas: 1, serviceName: '' })), ready),
  situation(
    'statefulset/hostname',
    create(
      statefulSet(
        'db',
        { replicas: 1, serviceName: 'peers' },
        podTemplate('db', { hostname: 'mine', subdomain: 'own' }),
      ),
    ),
    ready,
  ),
  situation(
    'statefulset/pod-lingers',
    create(
      statefulSet('db', { replicas: 2 }, podTemplate('db', { terminationGracePeriodSeconds: 30 }, { lingers: 'yes' })),
    ),
    readyOneByOne(2),
    pods('deleted', { named: 'db-0' }),
    spec({ replicas: 1 }),
  ),
  situation(
    'statefulset/quota',
    create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard: { pods: '1' } } }),
    create(statefulSet('db', { replicas: 2 })),
    ready,
  ),
];

export const statefulSets: readonly Situation[] = [...inBothPolicies, ...others];
