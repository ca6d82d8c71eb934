import type { Sample } from '#test/integration/apiserver/peer/samples/sample.js';

const labelled = { metadata: { labels: { app: 'example' } } };

export const storageSamples: readonly Sample[] = [
  {
    file: 'storage.v1.csidrivers',
    sizes: [
      () => ({ spec: {} }),
      () => ({
        ...labelled,
        spec: { attachRequired: false, podInfoOnMount: true, volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
      }),
    ],
  },
  {
    file: 'storage.v1.csinodes',
    sizes: [
      () => ({ spec: { drivers: [] } }),
      () => ({
        ...labelled,
        spec: { drivers: [{ name: 'example.com', nodeID: 'n1', topologyKeys: ['zone'], allocatable: { count: 4 } }] },
      }),
    ],
  },
  ...['storage.v1.csistoragecapacities', 'storage.v1beta1.csistoragecapacities'].map((file) => ({
    file,
    sizes: [
      () => ({ storageClassName: 'fast' }),
      () => ({
        ...labelled,
        storageClassName: 'fast',
        capacity: '10Gi',
        maximumVolumeSize: '1Gi',
        nodeTopology: { matchLabels: { zone: 'a' } },
      }),
    ],
  })),
  {
    file: 'storage.v1.storageclasses',
    serial: true,
    sizes: [
      () => ({ provisioner: 'example.com/disk' }),
      () => ({
        ...labelled,
        provisioner: 'example.com/disk',
        parameters: { type: 'ssd' },
        reclaimPolicy: 'Retain',
        mountOptions: ['ro'],
        allowVolumeExpansion: true,
        volumeBindingMode: 'WaitForFirstConsumer',
        allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }],
      }),
    ],
  },
  {
    file: 'storage.v1.volumeattachments',
    sizes: [
      () => ({ spec: { attacher: 'example.com', nodeName: 'n1', source: { persistentVolumeName: 'one' } } }),
      () => ({
        ...labelled,
        spec: { attacher: 'example.com', nodeName: 'n1', source: { persistentVolumeName: 'one' } },
        status: { attached: false },
      }),
    ],
  },
  ...['node.v1.runtimeclasses', 'node.v1beta1.runtimeclasses'].map((file) => ({
    file,
    sizes: [
      () => ({ handler: 'runc' }),
      () => ({
        ...labelled,
        handler: 'runc',
        overhead: { podFixed: { cpu: '10m' } },
        scheduling: { nodeSelector: { runtime: 'runc' }, tolerations: [{ key: 'runtime', operator: 'Exists' }] },
      }),
    ],
  })),
];
