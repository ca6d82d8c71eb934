import {
  configmaps,
  endpoints,
  events,
  limitranges,
  namespaces,
  nodes,
  persistentvolumeclaims,
  persistentvolumes,
  pods,
  podtemplates,
  replicationcontrollers,
  resourcequotas,
  secrets,
  serviceaccounts,
  services,
} from '#api/core/v1/resources.gen.js';
import { type AnyCase, resourceCase } from '#test/integration/apiserver/resources/resource-case.js';

const metadata = { name: 'example' };
const containers = [{ name: 'main', image: 'example/main:1.0' }];
const template = { metadata: { labels: { app: 'example' } }, spec: { containers } };

export const coreCases: readonly AnyCase[] = [
  resourceCase({
    resource: configmaps,
    example: () => ({ metadata, data: { a: '1' } }),
    defaults: {},
    invalid: { change: { data: { 'not/valid': '1' } }, causes: ['data[not/valid]'] },
    cells: { Data: '1' },
  }),
  resourceCase({
    resource: endpoints,
    example: () => ({ metadata, subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] }] }),
    defaults: { 'subsets.0.ports.0.protocol': 'TCP' },
    invalid: {
      change: { 'subsets.0.ports.0.port': 70_000, 'subsets.0.addresses.0.ip': 'here' },
      causes: ['subsets[0].addresses[0].ip', 'subsets[0].ports[0].port'],
    },
    cells: { Endpoints: '10.1.2.3:80' },
  }),
  resourceCase({
    resource: events,
    example: () => ({
      metadata: { ...metadata, namespace: 'default' },
      involvedObject: { kind: 'Pod', name: 'web-0', namespace: 'default' },
      reason: 'Started',
      message: 'Started container main',
      type: 'Normal',
      count: 1,
      firstTimestamp: '2024-05-01T10:00:00Z',
      lastTimestamp: '2024-05-01T10:00:00Z',
    }),
    defaults: {},
    invalid: { change: { 'involvedObject.namespace': 'other' }, causes: ['involvedObject.namespace'] },
    cells: { Type: 'Normal', Reason: 'Started', Object: 'pod/web-0', Message: 'Started container main' },
  }),
  resourceCase({
    resource: limitranges,
    example: () => ({ metadata, spec: { limits: [{ type: 'Container', max: { cpu: '2' } }] } }),
    defaults: { 'spec.limits.0.default.cpu': '2', 'spec.limits.0.defaultRequest.cpu': '2' },
    invalid: { change: { 'spec.limits.0.min': { cpu: '3' } }, causes: ['spec.limits[0].min[cpu]'] },
  }),
  resourceCase({
    resource: namespaces,
    example: () => ({ metadata, spec: {} }),
    defaults: (dialect) => ({
      'spec.finalizers': [dialect.namespaceFinalizer],
      'status.phase': 'Active',
      'metadata.labels': { [dialect.labels.metadataName]: 'example' },
    }),
    invalid: { change: { 'metadata.name': 'not.a.label' }, causes: ['metadata.name'] },
    cells: { Status: 'Active' },
  }),
  resourceCase({
    resource: nodes,
    example: () => ({ metadata, spec: { taints: [{ key: 'example.com/dedicated', effect: 'NoSchedule' }] } }),
    defaults: {},
    invalid: { change: { 'spec.taints.0.effect': 'Never' }, causes: ['metadata.taints[0].effect'] },
    cells: { Status: 'Unknown', Roles: '<none>', Version: '', 'Internal-IP': '<none>' },
  }),
  resourceCase({
    resource: persistentvolumeclaims,
    example: () => ({
      metadata,
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    }),
    defaults: { 'spec.volumeMode': 'Filesystem', 'status.phase': 'Pending' },
    invalid: {
      change: { 'spec.accessModes': [], 'spec.resources': {} },
      causes: ['spec.accessModes', 'spec.resources[storage]'],
    },
    cells: { Status: 'Pending', Volume: '', Capacity: '', VolumeMode: 'Filesystem' },
  }),
  resourceCase({
    resource: persistentvolumes,
    example: () => ({
      metadata,
      spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/srv/data' } },
    }),
    defaults: {
      'spec.persistentVolumeReclaimPolicy': 'Retain',
      'spec.volumeMode': 'Filesystem',
      'spec.hostPath.type': '',
      'status.phase': 'Pending',
    },
    invalid: {
      change: { 'spec.hostPath.path': '/srv/../etc', 'spec.accessModes': ['Always'] },
      causes: ['spec.accessModes', 'spec.hostPath.path'],
    },
    cells: { Capacity: '1Gi', 'Access Modes': 'RWO', 'Reclaim Policy': 'Retain', Status: 'Pending' },
  }),
  resourceCase({
    resource: pods,
    example: () => ({ metadata, spec: { containers } }),
    defaults: {
      'spec.restartPolicy': 'Always',
      'spec.dnsPolicy': 'ClusterFirst',
      'spec.terminationGracePeriodSeconds': 30,
      'spec.schedulerName': 'default-scheduler',
      'spec.securityContext': {},
      'spec.enableServiceLinks': true,
      'spec.containers.0.imagePullPolicy': 'IfNotPresent',
      'spec.containers.0.terminationMessagePath': '/dev/termination-log',
      'spec.containers.0.terminationMessagePolicy': 'File',
      'status.phase': 'Pending',
      'status.qosClass': 'BestEffort',
    },
    invalid: {
      change: { 'spec.containers.0.name': 'Not_A_Label', 'spec.containers.0.image': '', 'spec.restartPolicy': 'Maybe' },
      causes: ['spec.containers[0].name', 'spec.containers[0].image', 'spec.restartPolicy'],
    },
    cells: { Ready: '0/1', Status: 'Pending', Restarts: '0', IP: '<none>', Node: '<none>' },
  }),
  resourceCase({
    resource: podtemplates,
    example: () => ({ metadata, template }),
    defaults: { 'template.spec.restartPolicy': 'Always' },
    invalid: { change: { 'template.spec.containers': [] }, causes: ['template.spec.containers'] },
    cells: { Containers: 'main', Images: 'example/main:1.0', 'Pod Labels': 'app=example' },
  }),
  resourceCase({
    resource: replicationcontrollers,
    example: () => ({ metadata, spec: { template } }),
    defaults: {
      'spec.replicas': 1,
      'spec.selector': { app: 'example' },
      'metadata.labels': { app: 'example' },
      'status.replicas': 0,
    },
    invalid: { change: { 'spec.replicas': -1 }, causes: ['spec.replicas'] },
    cells: { Desired: 1, Current: 0, Ready: 0, Containers: 'main', Selector: 'app=example' },
  }),
  resourceCase({
    resource: resourcequotas,
    example: () => ({ metadata, spec: { hard: { pods: '10' } } }),
    defaults: {},
    invalid: { change: { 'spec.hard': { pods: '1.5' } }, causes: ['spec.hard[pods]'] },
  }),
  resourceCase({
    resource: secrets,
    example: () => ({ metadata, data: { password: 'aHVudGVyMg==' } }),
    defaults: { type: 'Opaque' },
    invalid: { change: { data: { 'not/valid': 'YQ==' } }, causes: ['data[not/valid]'] },
    cells: { Type: 'Opaque', Data: 1 },
  }),
  resourceCase({
    resource: serviceaccounts,
    example: () => ({ metadata }),
    defaults: {},
    invalid: { change: { 'metadata.name': 'Not_A_Name' }, causes: ['metadata.name'] },
    cells: { Secrets: 0 },
  }),
  resourceCase({
    resource: services,
    example: () => ({ metadata, spec: { selector: { app: 'example' }, ports: [{ port: 80 }] } }),
    defaults: {
      'spec.type': 'ClusterIP',
      'spec.sessionAffinity': 'None',
      'spec.ports.0.protocol': 'TCP',
      'spec.ports.0.targetPort': 80,
      'spec.internalTrafficPolicy': 'Cluster',
    },
    invalid: {
      change: { 'spec.ports.0.port': 0, 'spec.type': 'Anything' },
      causes: ['spec.ports[0].port', 'spec.type'],
    },
    cells: { Type: 'ClusterIP', 'External-IP': '<none>', 'Port(s)': '80/TCP', Selector: 'app=example' },
  }),
];
