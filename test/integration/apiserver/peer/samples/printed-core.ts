import type { PrintedSamples } from '#test/integration/apiserver/peer/samples/sample.js';

const long = '2020-01-01T00:00:00Z';
const count = (length: number) => Array.from({ length }, (_, i) => i + 1);
const address = (i: number) => ({ ip: `10.1.2.${i}` });
const info = {
  machineID: 'm',
  systemUUID: 'u',
  bootID: 'b',
  kernelVersion: '5.10.0',
  osImage: 'Example Linux 1',
  containerRuntimeVersion: 'containerd://1.6.0',
  kubeletVersion: 'v1.24.17',
  kubeProxyVersion: 'v1.24.17',
  operatingSystem: 'linux',
  architecture: 'amd64',
};
const port = (i: number, more: object = {}) => ({ name: `p${i}`, port: 80 + i, ...more });
const volume = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/srv/data' } };
const allModes = ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany'];
const claim = { accessModes: allModes, resources: { requests: { storage: '1Gi' } } };
const containers = [
  { name: 'a', image: 'example/a' },
  { name: 'b', image: 'example/b' },
];
const template = { metadata: { labels: { app: 'a', tier: 'b' } }, spec: { containers } };

export const printedCore: Readonly<Record<string, PrintedSamples>> = {
  'core.services': {
    'by name': { spec: { type: 'ExternalName', externalName: 'example.com' } },
    headless: { spec: { clusterIP: 'None', selector: { a: 'b', c: 'd' }, ports: [port(1)] } },
    'without ports': { spec: { clusterIP: 'None' } },
    'on nodes': { spec: { type: 'NodePort', ports: [port(1, { nodePort: 31_234 }), port(2, { protocol: 'UDP' })] } },
    'pending balancer': { spec: { type: 'LoadBalancer', ports: [port(1)] } },
    'with external addresses': { spec: { externalIPs: ['192.0.2.7', '192.0.2.8'], ports: [port(1)] } },
    balanced: {
      spec: { type: 'LoadBalancer', externalIPs: ['192.0.2.9'], ports: [port(1), port(2)] },
      status: { loadBalancer: { ingress: [{ ip: '192.0.2.10' }, { hostname: 'balancer.example.com' }] } },
    },
    'balanced under many': {
      spec: { type: 'LoadBalancer', ports: [port(1)] },
      status: { loadBalancer: { ingress: count(6).map((i) => ({ hostname: `balancer-${i}.example.com` })) } },
    },
  },
  'core.endpoints': {
    many: { subsets: [{ addresses: count(5).map(address), ports: [port(1), port(2)] }] },
    'not ready': { subsets: [{ notReadyAddresses: [address(1)], ports: [port(1)] }] },
    'without ports': { subsets: [{ addresses: [address(1), address(2)] }] },
    'without ports, many': { subsets: [{ addresses: count(5).map(address) }] },
    'several subsets': {
      subsets: [
        { addresses: [{ ip: 'fd00::1' }], ports: [port(1)] },
        { addresses: [address(2)], ports: [port(2), port(3), port(4)] },
      ],
    },
  },
  'core.events': {
    'of a field': {
      type: 'Warning',
      reason: 'Failed',
      message: '  with blanks \n',
      source: { component: 'agent' },
      firstTimestamp: long,
    },
    'of a series': {
      eventTime: '2020-01-01T00:00:00.000000Z',
      reportingComponent: 'example.com/controller',
      reportingInstance: 'controller-0',
      action: 'Start',
      reason: 'Started',
      type: 'Normal',
      message: 'two\nlines',
      series: { count: 7, lastObservedTime: '2020-02-01T00:00:00.000000Z' },
    },
  },
  'events.events': {
    'without a note': { note: '  blanks  ', type: 'Warning', deprecatedCount: 3, deprecatedFirstTimestamp: long },
  },
  'core.namespaces': { terminating: { status: { phase: 'Terminating' } }, empty: { status: {} } },
  'core.nodes': {
    ready: {
      metadata: {
        labels: {
          'node-role.kubernetes.io/worker': '',
          'node-role.kubernetes.io/control-plane': '',
          'kubernetes.io/role': 'special',
        },
      },
      status: {
        conditions: [{ type: 'Ready', status: 'True' }],
        addresses: [
          { type: 'InternalIP', address: '192.0.2.1' },
          { type: 'InternalIP', address: 'fd00::1' },
          { type: 'ExternalIP', address: '198.51.100.1' },
          { type: 'Hostname', address: 'n1' },
        ],
        nodeInfo: info,
      },
    },
    'not ready': {
      spec: { unschedulable: true },
      status: {
        conditions: [
          { type: 'MemoryPressure', status: 'True' },
          { type: 'Ready', status: 'False' },
        ],
        nodeInfo: { ...info, osImage: '', kernelVersion: '', containerRuntimeVersion: '' },
      },
    },
    unknown: { spec: { unschedulable: true }, status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } },
    'without conditions': { status: { conditions: [{ type: 'DiskPressure', status: 'False' }] } },
  },
  'core.persistentvolumes': {
    bound: {
      spec: {
        ...volume,
        accessModes: [...allModes, 'ReadWriteOnce'],
        capacity: { storage: '1500Mi' },
        storageClassName: 'fast',
        volumeMode: 'Block',
        claimRef: { namespace: 'a', name: 'b' },
        persistentVolumeReclaimPolicy: 'Recycle',
      },
      status: { phase: 'Bound' },
    },
    failed: { status: { phase: 'Failed', reason: 'Broken', message: 'it broke' } },
    alone: { spec: { ...volume, accessModes: ['ReadWriteOncePod'] }, status: { phase: 'Available' } },
    'of an annotated class': { metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': 'old' } } },
  },
  'core.persistentvolumeclaims': {
    bound: {
      spec: { ...claim, volumeName: 'one', storageClassName: 'fast' },
      status: { phase: 'Bound', accessModes: allModes, capacity: { storage: '2Gi' } },
    },
    lost: { spec: { ...claim, volumeName: 'one', volumeMode: 'Block' }, status: { phase: 'Lost' } },
    pending: { spec: { ...claim, storageClassName: '' }, status: { phase: 'Pending' } },
    'of an annotated class': { metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': 'old' } } },
  },
  'core.replicationcontrollers': {
    ready: {
      spec: { replicas: 3, selector: { app: 'a', tier: 'b' }, template },
      status: { replicas: 3, readyReplicas: 2, availableReplicas: 1 },
    },
  },
  'core.podtemplates': { several: { template } },
  'core.resourcequotas': {
    used: {
      spec: { hard: { pods: '10', 'requests.cpu': '4', 'limits.cpu': '8', 'limits.memory': '1Gi', cpu: '2' } },
      status: {
        hard: { pods: '10', 'requests.cpu': '4', 'limits.cpu': '8', 'limits.memory': '1Gi', cpu: '2' },
        used: { pods: '3', 'requests.cpu': '1500m', 'limits.cpu': '0' },
      },
    },
  },
  'core.secrets': { 'of a type': { type: 'example.com/odd', data: { a: 'YQ==', b: 'Yg==' } } },
  'core.configmaps': { both: { data: { a: '1' }, binaryData: { b: 'AA==' } } },
  'core.serviceaccounts': { several: { secrets: [{ name: 'a' }, { name: 'b' }] } },
};
