import t from 'tap';
import { endpoints, services } from '#api/core/v1/resources.gen.js';
import type { Endpoints, Service, ServiceSpec } from '#api/core/v1/types.gen.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';
import { clusterAddress, endpointAddress, ServiceResolver } from '#apiserver/service-routing/service-resolver.js';

const ports = [{ name: 'https', port: 443 }];
const service = (spec: Partial<ServiceSpec>): Service =>
  ({ metadata: { namespace: 'shop', name: 'hooks' }, spec: { ports, clusterIP: '10.0.0.7', ...spec } }) as Service;

const cluster: readonly [string, Partial<ServiceSpec>, number, object | string][] = [
  ['a cluster IP', {}, 443, { host: '10.0.0.7', port: 443 }],
  ['a node port', { type: 'NodePort' }, 443, { host: '10.0.0.7', port: 443 }],
  ['a load balancer', { type: 'LoadBalancer' }, 443, { host: '10.0.0.7', port: 443 }],
  [
    'an external name',
    { type: 'ExternalName', externalName: 'hooks.example' },
    8443,
    { host: 'hooks.example', port: 8443 },
  ],
  ['another port', {}, 8443, 'no service port 8443 found for service "hooks"'],
  ['no cluster IP', { clusterIP: 'None' }, 443, 'cannot route to service with ClusterIP "None"'],
  ['another type', { type: 'Other' }, 443, 'unsupported service type "Other"'],
];

t.test('resolves to the cluster IP', async (t) => {
  for (const [name, spec, port, expected] of cluster) {
    const resolve = () => clusterAddress(service(spec), port);
    if (typeof expected === 'string') t.throws(resolve, { message: expected }, name);
    else t.same(resolve(), expected, name);
  }
});

const withSubsets = (subsets: Endpoints['subsets']): Endpoints =>
  ({ metadata: { name: 'hooks' }, subsets }) as Endpoints;
const open = [{ name: 'https', port: 8443 }];
const behind: readonly [string, Endpoints | undefined, object | string][] = [
  ['an address', withSubsets([{ addresses: [{ ip: '10.1.0.1' }], ports: open }]), { host: '10.1.0.1', port: 8443 }],
  [
    'the first subset with one',
    withSubsets([{ ports: open }, { addresses: [{ ip: '10.1.0.2' }], ports: open }]),
    { host: '10.1.0.2', port: 8443 },
  ],
  [
    'no ready address',
    withSubsets([{ notReadyAddresses: [{ ip: '10.1.0.1' }], ports: open }]),
    'no endpoints available for service "hooks"',
  ],
  [
    'another port',
    withSubsets([{ addresses: [{ ip: '10.1.0.1' }], ports: [{ name: 'metrics', port: 1 }] }]),
    'no endpoints available for service "hooks"',
  ],
  ['none', undefined, 'no endpoints available for service "hooks"'],
];

t.test('resolves to an endpoint', async (t) => {
  for (const [name, object, expected] of behind) {
    const resolve = () => endpointAddress(service({}), object, { port: 443, random: () => 0 });
    if (typeof expected === 'string') t.throws(resolve, { message: expected }, name);
    else t.same(resolve(), expected, name);
  }
  const external = service({ type: 'ExternalName' });
  t.throws(() => endpointAddress(external, undefined, { port: 443, random: () => 0 }), {
    message: 'unsupported service type "ExternalName"',
  });
});

t.test('reads Services and Endpoints of the cluster', async (t) => {
  const reader = new MemoryObjectReader();
  const by = (toEndpoints: boolean) => new ServiceResolver({ reader, random: () => 0, toEndpoints });
  const place = { namespace: 'shop', name: 'hooks', port: 443 };
  await t.rejects(by(false).resolve(place), { message: 'service "hooks" not found' });
  reader.put(services, service({}));
  reader.put(endpoints, {
    ...withSubsets([{ addresses: [{ ip: '10.1.0.1' }], ports: open }]),
    metadata: { namespace: 'shop', name: 'hooks' },
  } as Endpoints);
  t.same(await by(false).resolve(place), { host: '10.0.0.7', port: 443 });
  t.same(await by(true).resolve(place), { host: '10.1.0.1', port: 8443 });
});
