/** Nodes of situations and their pods. */
import {
  create,
  manifest,
  patch,
  pod,
  pods,
  remove,
  situation,
  wait,
} from '#test/integration/controllers/peer/manifests.js';
import type { Json, JsonObject, Manifest, Situation, Step } from '#test/integration/controllers/peer/situation.js';

const condition = (type: string, status: string): JsonObject => ({
  type,
  status,
  reason: 'Told',
  message: '',
  lastHeartbeatTime: '$now',
  lastTransitionTime: '$now',
});
const node = (conditions: readonly JsonObject[] = [condition('Ready', 'True')], spec: JsonObject = {}): Manifest =>
  manifest('v1', 'Node', '$ns.node', {
    metadata: { labels: { 'beta.kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' } },
    spec,
    status: { conditions: [...conditions], capacity: { pods: '9' }, allocatable: { pods: '9' } },
  });
const say = (...conditions: JsonObject[]): Step =>
  patch('Node/$ns.node', { status: { conditions } as Json }, { type: 'strategic', subresource: 'status' });
const ready = condition('Ready', 'True');
const on = (name: string, spec: JsonObject = {}): Manifest => pod(name, {}, { nodeName: '$ns.node', ...spec });

const pressures = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable'];

const lives: readonly Situation[] = [
  situation('node/joins', create(node())),
  situation('node/joins-not-ready', create(node([condition('Ready', 'False')]))),
  situation('node/joins-unknown', create(node([condition('Ready', 'Unknown')]))),
  ...pressures.map((type) =>
    situation(
      `node/${type.toLowerCase()}`,
      create(node([ready, condition(type, 'True')])),
      say(condition(type, 'False')),
    ),
  ),
  situation(
    'node/cordoned',
    create(node()),
    patch('Node/$ns.node', { spec: { unschedulable: true } }),
    patch('Node/$ns.node', { spec: { unschedulable: null } }),
  ),
  situation('node/not-ready-and-back', create(node()), say(condition('Ready', 'False')), say(ready)),
  situation('node/pods-marked-not-ready', create(node(), on('p')), pods('ready'), say(condition('Ready', 'False'))),
  situation(
    'node/taint-evicts',
    create(
      node(),
      on('stays', { tolerations: [{ key: 'out', operator: 'Exists', effect: 'NoExecute' }] }),
      on('goes'),
      on('later', { tolerations: [{ key: 'out', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 4 }] }),
    ),
    pods('ready'),
    patch('Node/$ns.node', { spec: { taints: [{ key: 'out', effect: 'NoExecute' }] } }),
    wait(3),
  ),
  situation(
    'node/taint-taken-away',
    create(
      node(),
      on('later', { tolerations: [{ key: 'out', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30 }] }),
    ),
    pods('ready'),
    patch('Node/$ns.node', { spec: { taints: [{ key: 'out', effect: 'NoExecute' }] } }),
    patch('Node/$ns.node', { spec: { taints: null } }),
  ),
  situation('node/deleted', create(node()), remove('Node/$ns.node')),
  situation(
    'node/labels-reconciled',
    create(node()),
    patch('Node/$ns.node', {
      metadata: { labels: { 'kubernetes.io/os': 'windows', 'beta.kubernetes.io/arch': null } },
    }),
  ),
];

const volume = (spec: JsonObject = {}): Manifest =>
  manifest('v1', 'PersistentVolume', '$ns.pv', {
    spec: {
      capacity: { storage: '5Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: '$ns',
      hostPath: { path: '/tmp' },
      persistentVolumeReclaimPolicy: 'Retain',
      ...spec,
    },
  });
const claim = (spec: JsonObject = {}, name = 'claim'): Manifest =>
  manifest('v1', 'PersistentVolumeClaim', name, {
    spec: {
      storageClassName: '$ns',
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '2Gi' } },
      ...spec,
    },
  });
const using = pod('user', {}, { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'claim' } }] });

const volumes: readonly Situation[] = [
  situation('volume/binds', create(volume()), create(claim())),
  situation('volume/claim-first', create(claim()), create(volume())),
  situation('volume/too-small', create(volume({ capacity: { storage: '1Gi' } })), create(claim())),
  situation('volume/other-mode', create(volume({ accessModes: ['ReadOnlyMany'] })), create(claim())),
  situation('volume/block', create(volume({ volumeMode: 'Block' })), create(claim())),
  situation(
    'volume/by-name',
    create(volume({ capacity: { storage: '1Ti' } })),
    create(claim({ volumeName: '$ns.pv' })),
  ),
  situation('volume/by-name-absent', create(claim({ volumeName: '$ns.none' }))),
  situation(
    'volume/reserved',
    create(volume({ claimRef: { namespace: '$ns', name: 'claim' } })),
    create(claim({}, 'other')),
    create(claim()),
  ),
  situation(
    'volume/selector',
    create({ ...volume(), metadata: { name: '$ns.pv', labels: { tier: 'gold' } } }),
    create(
      claim({ selector: { matchLabels: { tier: 'gold' } } }),
      claim({ selector: { matchLabels: { tier: 'tin' } } }, 'other'),
    ),
  ),
  situation('volume/two-claims', create(volume()), create(claim()), create(claim({}, 'other'))),
  situation('volume/released', create(volume()), create(claim()), remove('PersistentVolumeClaim/claim')),
  situation(
    'volume/released-delete',
    create(volume({ persistentVolumeReclaimPolicy: 'Delete' })),
    create(claim()),
    remove('PersistentVolumeClaim/claim'),
  ),
  situation(
    'volume/lost',
    create(volume()),
    create(claim()),
    patch('PersistentVolume/$ns.pv', { metadata: { finalizers: null } }),
    remove('PersistentVolume/$ns.pv'),
  ),
  situation(
    'volume/protected-claim',
    create(volume()),
    create(claim(), using),
    pods('ready'),
    remove('PersistentVolumeClaim/claim'),
    pods('deleted'),
  ),
  situation(
    'volume/protected-claim-of-finished-pod',
    create(volume()),
    create(
      claim(),
      pod(
        'user',
        {},
        { restartPolicy: 'Never', volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'claim' } }] },
      ),
    ),
    pods('succeeded'),
    remove('PersistentVolumeClaim/claim'),
  ),
  situation(
    'volume/protected-volume',
    create(volume()),
    create(claim()),
    remove('PersistentVolume/$ns.pv'),
    remove('PersistentVolumeClaim/claim'),
  ),
  situation('volume/unused-volume-deleted', create(volume()), remove('PersistentVolume/$ns.pv')),
  situation('volume/no-class', create(claim({ storageClassName: '' }))),
  situation(
    'volume/generic-ephemeral',
    create(
      pod(
        'user',
        {},
        {
          volumes: [
            {
              name: 'v',
              ephemeral: {
                volumeClaimTemplate: {
                  metadata: { labels: { a: 'b' } },
                  spec: {
                    accessModes: ['ReadWriteOnce'],
                    storageClassName: '$ns',
                    resources: { requests: { storage: '1Gi' } },
                  },
                },
              },
            },
          ],
        },
      ),
    ),
    create(volume()),
  ),
  situation(
    'volume/generic-ephemeral-taken',
    create(
      claim({}, 'user-v'),
      pod(
        'user',
        {},
        {
          volumes: [
            {
              name: 'v',
              ephemeral: {
                volumeClaimTemplate: {
                  spec: {
                    accessModes: ['ReadWriteOnce'],
                    storageClassName: '$ns',
                    resources: { requests: { storage: '1Gi' } },
                  },
                },
              },
            },
          ],
        },
      ),
    ),
  ),
];

export const nodesAndVolumes: readonly Situation[] = [...lives, ...volumes];
