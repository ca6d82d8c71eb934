/** DaemonSets: placement, rollouts and history. */
import {
  create,
  daemonSet,
  patch,
  pod,
  pods,
  readyOneByOne,
  remove,
  situation,
  wait,
} from '#test/integration/controllers/peer/manifests.js';
import type { Json, JsonObject, Situation, Step } from '#test/integration/controllers/peer/situation.js';

const ready = pods('ready');
const image = (value: string): Json => ({
  spec: { template: { spec: { containers: [{ name: 'c', image: value }] } } },
});
const roll = (value: string): Step => patch('DaemonSet/agent', image(value), { type: 'strategic' });
const spec = (body: JsonObject): Step => patch('DaemonSet/agent', { spec: body });
const rolling = (rollingUpdate: JsonObject): JsonObject => ({
  updateStrategy: { type: 'RollingUpdate', rollingUpdate },
});

/** n1 and n2 are schedulable, n3 has the taint dedicated=infra:NoSchedule, n4 is cordoned. */
const places: Readonly<Record<string, JsonObject>> = {
  everywhere: {},
  tolerated: { tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'infra', effect: 'NoSchedule' }] },
  'tolerated-by-existence': { tolerations: [{ key: 'dedicated', operator: 'Exists' }] },
  'tolerates-all': { tolerations: [{ operator: 'Exists' }] },
  'other-toleration': { tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'web', effect: 'NoSchedule' }] },
  selected: { nodeSelector: { disk: 'fast' } },
  'selected-nowhere': { nodeSelector: { pool: 'none' } },
  affinity: {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] }],
        },
      },
    },
  },
  'affinity-or': {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] },
            { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] },
          ],
        },
      },
    },
  },
  'host-network': { hostNetwork: true },
  'node-name': { nodeName: 'n2' },
};

const placed: readonly Situation[] = Object.entries(places).map(([name, podSpec]) =>
  situation(`daemonset/place-${name}`, create(daemonSet('agent', {}, podSpec)), ready),
);

const strategies: Readonly<Record<string, JsonObject>> = {
  default: {},
  'unavailable-2': rolling({ maxUnavailable: 2 }),
  'unavailable-100p': rolling({ maxUnavailable: '100%' }),
  'surge-1': rolling({ maxSurge: 1, maxUnavailable: 0 }),
  'surge-100p': rolling({ maxSurge: '100%', maxUnavailable: 0 }),
  'on-delete': { updateStrategy: { type: 'OnDelete' } },
};

const rolled: readonly Situation[] = Object.entries(strategies).map(([name, strategy]) =>
  situation(
    `daemonset/roll-${name}`,
    create(daemonSet('agent', strategy)),
    ready,
    roll('i:2'),
    readyOneByOne(3),
    pods('deleted', { first: 1 }),
    ready,
  ),
);

const others: readonly Situation[] = [
  situation(
    'daemonset/roll-min-ready',
    create(daemonSet('agent', { minReadySeconds: 2 })),
    ready,
    wait(3),
    roll('i:2'),
    ready,
    wait(3),
    ready,
    wait(3),
  ),
  situation('daemonset/roll-twice', create(daemonSet('agent')), ready, roll('i:2'), roll('i:3'), readyOneByOne(3)),
  situation(
    'daemonset/roll-back',
    create(daemonSet('agent')),
    ready,
    roll('i:2'),
    readyOneByOne(2),
    roll('i:1'),
    readyOneByOne(3),
  ),
  situation(
    'daemonset/roll-unready',
    create(daemonSet('agent')),
    ready,
    pods('unready', { first: 1 }),
    roll('i:2'),
    readyOneByOne(3),
  ),
  situation(
    'daemonset/history',
    create(daemonSet('agent', { revisionHistoryLimit: 1, ...rolling({ maxUnavailable: '100%' }) })),
    ...['2', '3', '4'].flatMap((n) => [ready, roll(`i:${n}`)]),
    ready,
  ),
  situation('daemonset/pod-failed', create(daemonSet('agent')), ready, pods('failed', { first: 1 }), ready),
  situation('daemonset/pod-deleted', create(daemonSet('agent')), ready, pods('deleted', { first: 1 }), ready),
  situation(
    'daemonset/selector-changed-on-pod',
    create(daemonSet('agent')),
    ready,
    spec({ template: { metadata: { labels: { more: 'yes' } } } }),
  ),
  situation(
    'daemonset/moves',
    create(daemonSet('agent')),
    ready,
    patch('DaemonSet/agent', { spec: { template: { spec: { nodeSelector: { disk: 'fast' } } } } }),
    ready,
  ),
  situation(
    'daemonset/adopts',
    create(pod('stray', { app: 'agent' })),
    pods('ready'),
    create(daemonSet('agent')),
    ready,
  ),
  situation(
    'daemonset/min-ready',
    create(daemonSet('agent', { minReadySeconds: 2 })),
    ready,
    wait(3),
    pods('unready', { first: 1 }),
  ),
  situation(
    'daemonset/template-annotation',
    create(daemonSet('agent')),
    ready,
    patch('DaemonSet/agent', {
      metadata: { annotations: { 'deprecated.daemonset.template.generation': '7', a: 'b' } },
    }),
  ),
  ...(['Background', 'Foreground', 'Orphan'] as const).map((policy) =>
    situation(
      `daemonset/delete-${policy.toLowerCase()}`,
      create(daemonSet('agent')),
      ready,
      remove('DaemonSet/agent', policy),
    ),
  ),
  situation(
    'daemonset/orphans-adopted',
    create(daemonSet('agent')),
    ready,
    remove('DaemonSet/agent', 'Orphan'),
    create(daemonSet('agent')),
    ready,
  ),
  situation(
    'daemonset/quota',
    create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard: { pods: '1' } } }),
    create(daemonSet('agent')),
    ready,
  ),
];

export const daemonSets: readonly Situation[] = [
  ...placed,
  ...[...rolled, ...others].map((each) => ({ ...each, anyNode: true })),
];
