/** Endpoints, endpoint slices, and mirrored slices. */
import { create, manifest, patch, pod, pods, remove, situation } from '#test/integration/controllers/peer/manifests.js';
import type { Json, JsonObject, Manifest, Situation } from '#test/integration/controllers/peer/situation.js';

const web = { app: 'web' };
const ready = pods('ready');
const service = (spec: JsonObject = {}, metadata: JsonObject = {}): Manifest =>
  manifest('v1', 'Service', 'web', { metadata, spec: { selector: web, ports: [{ port: 80 }], ...spec } });
const ported = (name: string, ports: readonly JsonObject[], more: JsonObject = {}): Manifest =>
  pod(name, web, { containers: [{ name: 'c', image: 'i', ports: [...ports] }], ...more });
const http = [{ name: 'http', containerPort: 8080 }];

const ports: Readonly<Record<string, readonly JsonObject[]>> = {
  plain: [{ port: 80 }],
  'target-number': [{ port: 80, targetPort: 8080 }],
  'target-name': [{ port: 80, targetPort: 'http' }],
  'target-name-of-none': [{ port: 80, targetPort: 'grpc' }],
  named: [
    { name: 'a', port: 80 },
    { name: 'b', port: 81, targetPort: 'http' },
  ],
  protocols: [
    { name: 'tcp', port: 53 },
    { name: 'udp', port: 53, protocol: 'UDP' },
    { name: 'sctp', port: 53, protocol: 'SCTP' },
  ],
  'app-protocol': [{ name: 'a', port: 80, appProtocol: 'example.com/h2' }],
  'node-port': [{ port: 80 }],
};

const withPorts: readonly Situation[] = Object.entries(ports).map(([name, list]) =>
  situation(
    `endpoints/ports-${name}`,
    create(
      service({ ports: [...list], ...(name === 'node-port' ? { type: 'NodePort' } : {}) }),
      ported('a', http),
      ported('b', [{ name: 'http', containerPort: 9090 }]),
    ),
    ready,
  ),
);

const changes: readonly Situation[] = [
  situation(
    'endpoints/pods-come-and-go',
    create(service()),
    create(pod('a', web)),
    ready,
    create(pod('b', web)),
    ready,
    remove('Pod/a'),
  ),
  situation(
    'endpoints/unready',
    create(service(), pod('a', web), pod('b', web)),
    ready,
    pods('unready', { named: 'a' }),
    ready,
  ),
  situation(
    'endpoints/publish-not-ready',
    create(service({ publishNotReadyAddresses: true }), pod('a', web)),
    pods('unready'),
    ready,
  ),
  situation(
    'endpoints/publish-not-ready-later',
    create(service(), pod('a', web)),
    pods('unready'),
    patch('Service/web', { spec: { publishNotReadyAddresses: true } }),
  ),
  situation('endpoints/bound-only', create(service(), pod('a', web)), pods('bound')),
  situation(
    'endpoints/finished',
    create(service(), pod('a', web, { restartPolicy: 'Never' }), pod('b', web, { restartPolicy: 'OnFailure' })),
    ready,
    pods('succeeded', { named: 'a' }),
    pods('failed', { named: 'b' }),
  ),
  situation(
    'endpoints/terminating',
    create(service(), pod('a', { ...web, lingers: 'yes' }, { terminationGracePeriodSeconds: 60 })),
    ready,
    pods('deleted'),
  ),
  situation(
    'endpoints/terminating-published',
    create(
      service({ publishNotReadyAddresses: true }),
      pod('a', { ...web, lingers: 'yes' }, { terminationGracePeriodSeconds: 60 }),
    ),
    ready,
    pods('deleted'),
  ),
  situation(
    'endpoints/terminating-unready',
    create(service(), pod('a', { ...web, lingers: 'yes' }, { terminationGracePeriodSeconds: 60 })),
    ready,
    pods('deleted'),
    pods('unready'),
  ),
  situation('endpoints/headless', create(service({ clusterIP: 'None' }), pod('a', web)), ready),
  situation('endpoints/headless-no-ports', create(service({ clusterIP: 'None', ports: [] }), pod('a', web)), ready),
  situation(
    'endpoints/headless-hostname',
    create(
      service({ clusterIP: 'None' }),
      pod('a', web, { hostname: 'me', subdomain: 'web' }),
      pod('b', web, { hostname: 'me', subdomain: 'else' }),
    ),
    ready,
  ),
  situation(
    'endpoints/no-selector',
    create(manifest('v1', 'Service', 'web', { spec: { ports: [{ port: 80 }] } }), pod('a', web)),
    ready,
  ),
  situation(
    'endpoints/external-name',
    create(manifest('v1', 'Service', 'web', { spec: { type: 'ExternalName', externalName: 'example.com' } })),
  ),
  situation(
    'endpoints/selector-changed',
    create(service(), pod('a', web), pod('b', { app: 'other' })),
    ready,
    patch('Service/web', { spec: { selector: { app: 'other' } } }),
  ),
  situation(
    'endpoints/selector-removed',
    create(service(), pod('a', web)),
    ready,
    patch('Service/web', { spec: { selector: null } }),
  ),
  situation(
    'endpoints/labels',
    create(service({}, { labels: { team: 'a' }, annotations: { b: 'c' } }), pod('a', web)),
    ready,
    patch('Service/web', { metadata: { labels: { team: 'b' } } }),
  ),
  situation(
    'endpoints/headless-label',
    create(service({ clusterIP: 'None' }, { labels: { 'service.kubernetes.io/headless': 'x', a: 'b' } })),
  ),
  situation(
    'endpoints/port-changed',
    create(service(), pod('a', web)),
    ready,
    patch('Service/web', { spec: { ports: [{ port: 80, targetPort: 99 }] } }),
  ),
  situation('endpoints/service-deleted', create(service(), pod('a', web)), ready, remove('Service/web')),
  situation(
    'endpoints/relabelled-pod',
    create(service(), pod('a', web)),
    ready,
    patch('Pod/a', { metadata: { labels: { app: 'away' } } }),
  ),
  situation(
    'endpoints/other-node',
    create(service(), pod('a', web), pod('b', web)),
    pods('ready', { named: 'a', node: 'n2' }),
    ready,
  ),
  situation('endpoints/endpoints-deleted', create(service(), pod('a', web)), ready, remove('Endpoints/web')),
  situation(
    'endpoints/endpoints-changed',
    create(service(), pod('a', web)),
    ready,
    patch('Endpoints/web', { subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 1 }] }] }),
  ),
  situation(
    'endpoints/topology',
    create(service({}, { annotations: { 'service.kubernetes.io/topology-aware-hints': 'auto' } }), pod('a', web)),
    ready,
  ),
  situation('endpoints/internal-local', create(service({ internalTrafficPolicy: 'Local' }), pod('a', web)), ready),
  situation(
    'endpoints/prefers-two-families',
    create(service({ ipFamilyPolicy: 'PreferDualStack' }), pod('a', web)),
    ready,
  ),
  situation(
    'endpoints/skip-mirror-label',
    create(service({}, { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }), pod('a', web)),
    ready,
  ),
];

const target = manifest('v1', 'Service', 'ext', { spec: { ports: [{ port: 80 }] } });
const endpoints = (subsets: Json, metadata: JsonObject = {}): Manifest =>
  manifest('v1', 'Endpoints', 'ext', { metadata, subsets });
const one = [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }];

const mirrored: readonly Situation[] = [
  situation('mirroring/plain', create(target, endpoints(one))),
  situation('mirroring/endpoints-first', create(endpoints(one)), create(target)),
  situation('mirroring/no-service', create(endpoints(one))),
  situation(
    'mirroring/not-ready',
    create(
      target,
      endpoints([
        {
          notReadyAddresses: [{ ip: '192.0.2.1' }],
          addresses: [{ ip: '192.0.2.2', hostname: 'h', nodeName: 'n1' }],
          ports: [{ name: 'a', port: 80, protocol: 'UDP' }],
        },
      ]),
    ),
  ),
  situation(
    'mirroring/several-subsets',
    create(
      target,
      endpoints([
        ...one,
        { addresses: [{ ip: '192.0.2.2' }], ports: [{ port: 81 }] },
        { addresses: [{ ip: '192.0.2.3' }], ports: [{ port: 80 }] },
      ]),
    ),
  ),
  situation(
    'mirroring/two-families',
    create(target, endpoints([{ addresses: [{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }], ports: [{ port: 80 }] }])),
  ),
  situation('mirroring/no-ports', create(target, endpoints([{ addresses: [{ ip: '192.0.2.1' }] }]))),
  situation('mirroring/empty', create(target, endpoints([]))),
  situation(
    'mirroring/skipped',
    create(target, endpoints(one, { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } })),
    patch('Endpoints/ext', { metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': null } } }),
  ),
  situation(
    'mirroring/leader',
    create(target, endpoints(one, { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } })),
  ),
  situation(
    'mirroring/labels',
    create(target, endpoints(one, { labels: { a: 'b' }, annotations: { c: 'd' } })),
    patch('Endpoints/ext', { metadata: { labels: { a: 'e' } } }),
  ),
  situation(
    'mirroring/changed',
    create(target, endpoints(one)),
    patch('Endpoints/ext', { subsets: [{ addresses: [{ ip: '192.0.2.9' }], ports: [{ port: 90 }] }] }),
    patch('Endpoints/ext', { subsets: null }),
  ),
  situation('mirroring/deleted', create(target, endpoints(one)), remove('Endpoints/ext')),
  situation('mirroring/service-deleted', create(target, endpoints(one)), remove('Service/ext')),
  situation(
    'mirroring/selector-added',
    create(target, endpoints(one)),
    patch('Service/ext', { spec: { selector: { app: 'x' } } }),
  ),
  situation(
    'mirroring/target-ref',
    create(
      target,
      endpoints([
        {
          addresses: [{ ip: '192.0.2.1', targetRef: { kind: 'Pod', name: 'p' } }],
          ports: [{ port: 80, appProtocol: 'h2' }],
        },
      ]),
    ),
  ),
  situation(
    'mirroring/slice-deleted',
    create(target, endpoints(one)),
    patch('Service/ext', { metadata: { labels: { a: 'b' } } }),
  ),
];

export const endpointSituations: readonly Situation[] = [...withPorts, ...changes, ...mirrored];
