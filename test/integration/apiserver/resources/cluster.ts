import { leases } from '#api/coordination/v1/resources.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { events } from '#api/events/v1/resources.gen.js';
import { ingressclasses, ingresses, networkpolicies } from '#api/networking/v1/resources.gen.js';
import { runtimeclasses } from '#api/node/v1/resources.gen.js';
import {
  csidrivers,
  csinodes,
  csistoragecapacities,
  storageclasses,
  volumeattachments,
} from '#api/storage/v1/resources.gen.js';
import { type AnyCase, resourceCase } from '#test/integration/apiserver/resources/resource-case.js';

const metadata = { name: 'example' };

export const clusterCases: readonly AnyCase[] = [
  resourceCase({
    resource: leases,
    example: () => ({ metadata, spec: { holderIdentity: 'me', leaseDurationSeconds: 15 } }),
    defaults: {},
    invalid: {
      change: { 'spec.leaseDurationSeconds': 0, 'spec.leaseTransitions': -1 },
      causes: ['spec.leaseDurationSeconds', 'spec.leaseTransitions'],
    },
    cells: { Holder: 'me' },
  }),
  resourceCase({
    resource: endpointslices,
    example: () => ({
      metadata,
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.2.3'] }],
      ports: [{ port: 80 }],
    }),
    defaults: { 'ports.0.protocol': 'TCP', 'ports.0.name': '' },
    invalid: {
      change: { 'endpoints.0.addresses': ['::1'], 'ports.0.protocol': 'ICMP' },
      causes: ['endpoints[0].addresses[0]', 'ports[0].protocol'],
    },
    cells: { AddressType: 'IPv4', Ports: '80', Endpoints: '10.1.2.3' },
  }),
  resourceCase({
    resource: events,
    example: () => ({
      metadata: { ...metadata, namespace: 'default' },
      eventTime: '2024-05-01T10:00:00.000000Z',
      reportingController: 'example.com/controller',
      reportingInstance: 'controller-0',
      action: 'Start',
      reason: 'Started',
      regarding: { kind: 'Pod', name: 'web-0', namespace: 'default' },
      note: 'Started container main',
      type: 'Normal',
    }),
    defaults: {},
    invalid: {
      change: { action: '', reportingInstance: '', type: 'Odd' },
      causes: ['reportingInstance', 'action', 'type'],
    },
    cells: { Type: 'Normal', Reason: 'Started', Object: 'pod/web-0', Message: 'Started container main' },
  }),
  resourceCase({
    resource: ingressclasses,
    example: () => ({ metadata, spec: { controller: 'example.com/ingress' } }),
    defaults: {},
    invalid: { change: { 'spec.controller': 'no-domain' }, causes: ['spec.controller'] },
    cells: { Controller: 'example.com/ingress', Parameters: '<none>' },
  }),
  resourceCase({
    resource: ingresses,
    example: () => ({
      metadata,
      spec: {
        rules: [
          {
            host: 'example.com',
            http: {
              paths: [
                { path: '/', pathType: 'Prefix', backend: { service: { name: 'example', port: { number: 80 } } } },
              ],
            },
          },
        ],
      },
    }),
    defaults: {},
    invalid: {
      change: { 'spec.rules.0.host': '10.0.0.1', 'spec.rules.0.http.paths.0.path': 'relative' },
      causes: ['spec.rules[0].host', 'spec.rules[0].http.paths[0].path'],
    },
    cells: { Class: '<none>', Hosts: 'example.com', Address: '', Ports: '80' },
  }),
  resourceCase({
    resource: networkpolicies,
    example: () => ({
      metadata,
      spec: { podSelector: { matchLabels: { app: 'example' } }, ingress: [{ ports: [{ port: 80 }] }] },
    }),
    defaults: { 'spec.policyTypes': ['Ingress'], 'spec.ingress.0.ports.0.protocol': 'TCP' },
    invalid: {
      change: { 'spec.ingress.0.ports.0.port': 0, 'spec.policyTypes': ['Sideways'] },
      causes: ['spec.ingress[0].ports[0].port', 'spec.policyTypes[0]'],
    },
    cells: { 'Pod-Selector': 'app=example' },
  }),
  resourceCase({
    resource: runtimeclasses,
    example: () => ({ metadata, handler: 'runc' }),
    defaults: {},
    invalid: { change: { handler: 'Not_A_Label' }, causes: ['handler'] },
    cells: { Handler: 'runc' },
  }),
  resourceCase({
    resource: csidrivers,
    example: () => ({ metadata, spec: {} }),
    defaults: {
      'spec.attachRequired': true,
      'spec.podInfoOnMount': false,
      'spec.fsGroupPolicy': 'ReadWriteOnceWithFSType',
      'spec.volumeLifecycleModes': ['Persistent'],
    },
    invalid: { change: { 'spec.volumeLifecycleModes': ['Forever'] }, causes: ['spec.volumeLifecycleModes'] },
    cells: {
      AttachRequired: true,
      PodInfoOnMount: false,
      StorageCapacity: false,
      TokenRequests: '<unset>',
      RequiresRepublish: false,
      Modes: 'Persistent',
    },
  }),
  resourceCase({
    resource: csinodes,
    example: () => ({ metadata, spec: { drivers: [{ name: 'example.com', nodeID: 'n1' }] } }),
    defaults: {},
    invalid: { change: { 'spec.drivers.0.nodeID': '' }, causes: ['spec.drivers[0].nodeID'] },
    cells: { Drivers: 1 },
  }),
  resourceCase({
    resource: csistoragecapacities,
    example: () => ({ metadata, storageClassName: 'fast', capacity: '10Gi' }),
    defaults: {},
    invalid: { change: { storageClassName: '' }, causes: ['storageClassName'] },
    cells: {},
  }),
  resourceCase({
    resource: storageclasses,
    example: () => ({ metadata, provisioner: 'example.com/disk' }),
    defaults: { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' },
    invalid: { change: { reclaimPolicy: 'Forget', provisioner: '' }, causes: ['provisioner', 'reclaimPolicy'] },
    cells: { Provisioner: 'example.com/disk', ReclaimPolicy: 'Delete', VolumeBindingMode: 'Immediate' },
  }),
  resourceCase({
    resource: volumeattachments,
    example: () => ({
      metadata,
      spec: { attacher: 'example.com', nodeName: 'n1', source: { persistentVolumeName: 'data' } },
    }),
    defaults: {},
    invalid: { change: { 'spec.attacher': '', 'spec.nodeName': '' }, causes: ['spec.attacher', 'spec.nodeName'] },
    cells: { Attacher: 'example.com', PV: 'data', Node: 'n1', Attached: false },
  }),
];
