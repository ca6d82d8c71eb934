/** Every field with an address or a range, in spellings that parsers treat differently; only services are stored. */
import type { Case, Step } from '#test/integration/apiserver/recorded/step.js';

const addresses = [
  '10.1.0.1',
  '010.001.0.1',
  '0000010.1.0.1',
  '10.1.0.0x1',
  '10.1.0.256',
  '10.1.0',
  '010.1.0.1 ',
  '127.000.0.1',
  '000.0.0.0',
  '169.0254.0.1',
  '224.0.00.1',
  '2001:00db8::1',
  '2001:db8::010.001.0.1',
  '::ffff:010.001.0.1',
  'fe80::1%eth0',
  '1::2:3:4:5:6:7:8',
  '1::3:4:5:6:7:8',
  '00010.1.1.1.',
] as const;

const mapped = '::ffff:10.0.0.0/104';

const ranges = [
  '10.0.0.0/8',
  '010.000.0.0/8',
  '10.0.0.0/08',
  '10.0.0.0/0000000000008',
  '10.0.0.0/+8',
  '10.0.0.0/33',
  '10.0.0.0/',
  '10.0.0.0',
  '010.1.2.3/16',
  '2001:00db8::/32',
  mapped,
  ' 10.0.0.0/8 ',
] as const;

const failure = [['message'], ['details', 'causes']];
const parts = [...failure, ['spec']];
const containers = [{ name: 'c', image: 'i' }];

function dryRun(path: string, body: object): Step {
  return { method: 'POST', path: `${path}?dryRun=All`, body, parts: failure };
}

const podFields: readonly ((address: string) => object)[] = [
  (ip) => ({ hostAliases: [{ ip, hostnames: ['a'] }] }),
  (ip) => ({ dnsPolicy: 'None', dnsConfig: { nameservers: [ip] } }),
];

function pod(spec: object): Step {
  return dryRun('/api/v1/namespaces/addressed/pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a' },
    spec: { containers, automountServiceAccountToken: false, ...spec },
  });
}

const ports = [{ port: 80 }];
const serviceFields: readonly ((address: string) => object)[] = [
  (ip) => ({ ports, clusterIP: ip }),
  (ip) => ({ ports, clusterIP: 'None', externalIPs: [ip] }),
  (ip) => ({
    ports,
    type: 'LoadBalancer',
    clusterIP: '10.96.7.7',
    loadBalancerIP: ip,
    allocateLoadBalancerNodePorts: false,
  }),
  (ip) => ({ type: 'ExternalName', externalName: ip }),
];

const services = '/api/v1/namespaces/addressed/services';

function service(spec: object, metadata: object = { name: 'a' }): object {
  return { apiVersion: 'v1', kind: 'Service', metadata, spec };
}

const endpoints = (address: string): Step =>
  dryRun('/api/v1/namespaces/addressed/endpoints', {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'a' },
    subsets: [{ addresses: [{ ip: address }], ports }],
  });

const slice = (address: string, addressType: string): Step =>
  dryRun('/apis/discovery.k8s.io/v1/namespaces/addressed/endpointslices', {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'a' },
    addressType,
    endpoints: [{ addresses: [address] }],
  });

const backend = { service: { name: 'a', port: { number: 80 } } };
const ingress = (host: string): Step =>
  dryRun('/apis/networking.k8s.io/v1/namespaces/addressed/ingresses', {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'a' },
    spec: { defaultBackend: backend, rules: [{ host }] },
  });

const policy = (ipBlock: object): Step =>
  dryRun('/apis/networking.k8s.io/v1/namespaces/addressed/networkpolicies', {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'a' },
    spec: { podSelector: {}, ingress: [{ from: [{ ipBlock }] }] },
  });

const node = (cidrs: readonly string[]): Step =>
  dryRun('/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'a' },
    spec: { podCIDR: cidrs[0], podCIDRs: cidrs },
  });

const statusFields: readonly ((address: string) => object)[] = [(ip) => ({ ip }), (hostname) => ({ hostname })];

/** One address has one owner, in any spelling. */
const kept: readonly Step[] = [
  { method: 'POST', path: services, body: service({ ports, clusterIP: '10.96.077.7' }, { name: 'written' }), parts },
  { method: 'POST', path: services, body: service({ ports, clusterIP: '10.96.77.07' }, { name: 'again' }), parts },
  { method: 'GET', path: `${services}/written`, parts },
  ...addresses.flatMap((address) =>
    statusFields.map(
      (field): Step => ({
        method: 'PATCH',
        path: `${services}/balanced/status?dryRun=All`,
        contentType: 'application/merge-patch+json',
        body: { status: { loadBalancer: { ingress: [field(address)] } } },
        parts: [['message'], ['details', 'causes'], ['status']],
      }),
    ),
  ),
];

export const addressCases: Case = {
  name: 'addresses',
  steps: [
    {
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'addressed' } },
      parts: [['kind']],
    },
    ...addresses.flatMap((address) => [
      ...podFields.map((field) => pod(field(address))),
      ...serviceFields.map((field) => dryRun(services, service(field(address)))),
      endpoints(address),
      slice(address, 'IPv4'),
      slice(address, 'IPv6'),
      ingress(address),
    ]),
    ...ranges.flatMap((cidr) => [
      policy({ cidr }),
      policy({ cidr: '10.0.0.0/7', except: [cidr] }),
      // 1.24 compares 104 with 16 bits and finds the block too large.
      ...(cidr === mapped ? [] : [policy({ cidr, except: ['010.1.0.0/016'] })]),
      node([cidr]),
      node([cidr, '2001:db8::/64']),
      dryRun(
        services,
        service({
          ports,
          type: 'LoadBalancer',
          clusterIP: '10.96.7.7',
          allocateLoadBalancerNodePorts: false,
          loadBalancerSourceRanges: [cidr],
        }),
      ),
    ]),
    {
      method: 'POST',
      path: services,
      body: service(
        { ports, type: 'LoadBalancer', clusterIP: '10.96.8.8', allocateLoadBalancerNodePorts: false },
        { name: 'balanced' },
      ),
      parts,
    },
    ...kept,
    // The recorded server also had objects of other tests.
    ...['written', 'balanced'].map(
      (name): Step => ({ method: 'DELETE', path: `${services}/${name}`, parts: [['message']] }),
    ),
  ],
};
