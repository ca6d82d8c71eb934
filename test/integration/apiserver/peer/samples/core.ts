import {
  podSpec,
  selector,
  smallPodSpec,
  smallTemplate,
  template,
} from '#test/integration/apiserver/peer/samples/pod-spec.js';
import type { Sample } from '#test/integration/apiserver/peer/samples/sample.js';

const labelled = { metadata: { labels: { app: 'example' }, annotations: { note: 'x' } } };
const subset = {
  addresses: [{ ip: '10.1.2.3', targetRef: { kind: 'Pod', name: 'web-0' } }],
  notReadyAddresses: [{ ip: '10.1.2.4' }],
  ports: [{ name: 'http', port: 80 }],
};
const claimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const volumeSpec = {
  capacity: { storage: '1Gi' },
  accessModes: ['ReadWriteOnce'],
  hostPath: { path: '/srv/data' },
};

export const coreSamples: readonly Sample[] = [
  {
    file: 'core.v1.configmaps',
    sizes: [() => ({}), () => ({ ...labelled, data: { a: '1', 'b.txt': 'two' }, binaryData: { c: 'AAEC' } })],
  },
  {
    file: 'core.v1.pods',
    sizes: [() => ({ spec: smallPodSpec }), () => ({ ...labelled, spec: podSpec })],
  },
  {
    file: 'core.v1.services',
    serial: true,
    sizes: [
      () => ({ spec: { ports: [{ port: 80 }] } }),
      () => ({
        ...labelled,
        spec: {
          selector: { app: 'example' },
          ports: [
            { name: 'http', port: 80, targetPort: 8080 },
            { name: 'dns', port: 53, protocol: 'UDP' },
          ],
        },
      }),
    ],
  },
  { file: 'core.v1.endpoints', sizes: [() => ({}), () => ({ ...labelled, subsets: [subset] })] },
  {
    file: 'core.v1.events',
    sizes: [
      (_, __, namespace) => ({ involvedObject: { namespace } }),
      (_, __, namespace) => ({
        involvedObject: { kind: 'Pod', name: 'web-0', namespace, apiVersion: 'v1' },
        reason: 'Started',
        message: 'Started container main',
        source: { component: 'agent', host: 'n1' },
        type: 'Normal',
        count: 1,
        firstTimestamp: '2024-05-01T10:00:00Z',
        lastTimestamp: '2024-05-01T10:00:00Z',
      }),
    ],
  },
  {
    file: 'core.v1.limitranges',
    serial: true,
    sizes: [
      () => ({ spec: { limits: [] } }),
      () => ({
        spec: {
          limits: [
            {
              type: 'Container',
              max: { cpu: '2' },
              min: { cpu: '10m' },
              default: { cpu: '1' },
              defaultRequest: { cpu: '100m' },
            },
            { type: 'PersistentVolumeClaim', max: { storage: '10Gi' } },
          ],
        },
      }),
    ],
  },
  { file: 'core.v1.namespaces', sizes: [() => ({}), () => ({ ...labelled, spec: {} })] },
  {
    file: 'core.v1.nodes',
    sizes: [
      () => ({}),
      () => ({
        ...labelled,
        spec: {
          podCIDR: '10.244.1.0/24',
          taints: [{ key: 'example.com/dedicated', value: 'a', effect: 'NoSchedule' }],
        },
        status: {
          capacity: { cpu: '4', memory: '8Gi' },
          addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
          conditions: [{ type: 'Ready', status: 'True' }],
        },
      }),
    ],
  },
  {
    file: 'core.v1.persistentvolumeclaims',
    sizes: [
      () => ({ spec: claimSpec }),
      () => ({
        ...labelled,
        spec: { ...claimSpec, storageClassName: 'fast', selector, volumeMode: 'Filesystem' },
        status: { phase: 'Pending' },
      }),
    ],
  },
  {
    file: 'core.v1.persistentvolumes',
    sizes: [
      () => ({ spec: volumeSpec }),
      () => ({
        ...labelled,
        spec: {
          ...volumeSpec,
          storageClassName: 'fast',
          persistentVolumeReclaimPolicy: 'Retain',
          mountOptions: ['ro'],
          nodeAffinity: {
            required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }] },
          },
        },
      }),
    ],
  },
  {
    file: 'core.v1.podtemplates',
    sizes: [() => ({ template: smallTemplate }), () => ({ ...labelled, template })],
  },
  {
    file: 'core.v1.replicationcontrollers',
    sizes: [
      () => ({ spec: { template: smallTemplate } }),
      () => ({ ...labelled, spec: { replicas: 2, selector: { app: 'example' }, template } }),
    ],
  },
  {
    file: 'core.v1.resourcequotas',
    serial: true,
    sizes: [
      () => ({}),
      () => ({
        ...labelled,
        spec: {
          hard: { pods: '10', 'requests.cpu': '4' },
          scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }] },
        },
      }),
    ],
  },
  {
    file: 'core.v1.secrets',
    sizes: [() => ({}), () => ({ ...labelled, type: 'Opaque', data: { password: 'aHVudGVyMg==' } })],
  },
  {
    file: 'core.v1.serviceaccounts',
    sizes: [() => ({}), () => ({ ...labelled, secrets: [{ name: 'one' }], imagePullSecrets: [{ name: 'two' }] })],
  },
];
