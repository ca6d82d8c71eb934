import type { PrintedSamples } from '#test/integration/apiserver/peer/samples/sample.js';

const backend = { service: { name: 'example', port: { number: 80 } } };
const rule = (host: string) => ({ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } });
const selector = {
  matchLabels: { b: 'c', a: 'b' },
  matchExpressions: [
    { key: 'x', operator: 'NotIn', values: ['2', '1'] },
    { key: 'y', operator: 'Exists' },
  ],
};
const condition = (type: string) => ({ type, status: 'True', reason: 'Tests', message: 'a message' });
const port = (i: number) => ({ name: `p${i}`, port: i, protocol: 'TCP' });
const subjects = [
  { kind: 'User', name: 'jane' },
  { kind: 'User', name: 'john' },
  { kind: 'Group', name: 'dev' },
  { kind: 'ServiceAccount', name: 'robot', namespace: 'default' },
  { kind: 'ServiceAccount', name: 'other', namespace: 'a' },
];

export const printedAdministration: Readonly<Record<string, PrintedSamples>> = {
  'networking.ingresses': {
    balanced: {
      spec: { ingressClassName: 'one', rules: [rule('a.example.com')], tls: [{ hosts: ['a.example.com'] }] },
      status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }, { hostname: 'b.example.com' }] } },
    },
    'of many hosts': { spec: { rules: ['a', 'b', 'c', 'd', 'e'].map((name) => rule(`${name}.example.com`)) } },
    'without a host': { spec: { rules: [{ http: rule('').http }, rule('*.example.com')] } },
    'of a class in an annotation': { metadata: { annotations: { 'kubernetes.io/ingress.class': 'old' } } },
  },
  'networking.ingressclasses': {
    'with parameters': {
      spec: {
        controller: 'example.com/ingress',
        parameters: { kind: 'Settings', name: 'a', namespace: 'b', scope: 'Namespace', apiGroup: 'example.com' },
      },
    },
    'with parameters of no group': {
      spec: { controller: 'example.com/ingress', parameters: { kind: 'Settings', name: 'a' } },
    },
  },
  'networking.networkpolicies': { selective: { spec: { podSelector: selector } } },
  'discovery.endpointslices': {
    many: {
      addressType: 'IPv4',
      endpoints: [1, 2, 3, 4].map((i) => ({ addresses: [`10.1.2.${i}`, `10.1.3.${i}`] })),
      ports: [1, 2, 3, 4, 5].map(port),
    },
    'without port numbers': {
      addressType: 'FQDN',
      endpoints: [{ addresses: ['a.example.com'] }],
      ports: [{ name: 'a' }],
    },
    'without ports': { addressType: 'IPv6', endpoints: [{ addresses: ['fd00::1'] }] },
  },
  'certificates.certificatesigningrequests': {
    failed: { status: { conditions: [condition('Failed')] } },
    issued: { status: { certificate: '' } },
  },
  'storage.csidrivers': {
    full: {
      spec: {
        attachRequired: true,
        podInfoOnMount: true,
        storageCapacity: true,
        requiresRepublish: true,
        tokenRequests: [{ audience: 'a' }, { audience: 'b' }],
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      },
    },
  },
  'storage.csinodes': {
    several: {
      spec: {
        drivers: ['a', 'b'].map((name) => ({ name: `${name}.example.com`, nodeID: 'n1', topologyKeys: null })),
      },
    },
  },
  'storage.storageclasses': {
    default: {
      metadata: { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      allowVolumeExpansion: false,
      reclaimPolicy: 'Retain',
    },
    'default of old': { metadata: { annotations: { 'storageclass.beta.kubernetes.io/is-default-class': 'true' } } },
  },
  'storage.volumeattachments': {
    attached: { status: { attached: true } },
  },
  'scheduling.priorityclasses': { default: { value: -5, globalDefault: true } },
  'rbac.rolebindings': { several: { subjects: subjects } },
  'rbac.clusterrolebindings': { several: { subjects: subjects } },
  'flowcontrol.flowschemas': {
    nowhere: {
      spec: { priorityLevelConfiguration: { name: 'nowhere' }, distinguisherMethod: { type: 'ByNamespace' } },
    },
  },
};
