import t from 'tap';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import type { APIService } from '#api/apiregistration/v1/types.gen.js';
import type { Endpoints, Service } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { ApiServices } from '#apiserver/aggregation/api-services.js';
import { AvailabilityController, clusterFault, type Observed } from '#apiserver/aggregation/availability-controller.js';
import { type RemoteService, remoteService } from '#apiserver/aggregation/remote-service.js';
import { userHeaders } from '#apiserver/aggregation/user-headers.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';
import type { Client } from '#client/client.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';

const object = (spec: Partial<APIService['spec']> = {}): APIService =>
  ({
    metadata: { name: 'v1.example.com', resourceVersion: '1' },
    spec: { group: 'example.com', version: 'v1', service: { namespace: 'a', name: 'b', port: 443 }, ...spec },
  }) as APIService;
const remote = remoteService(object()) as RemoteService;
const service = (spec: object = {}) =>
  ({ metadata: {}, spec: { type: 'ClusterIP', ports: [{ name: 'https', port: 443 }], ...spec } }) as unknown as Service;
const endpointsOf = (subsets: object[]) => ({ metadata: {}, subsets }) as unknown as Endpoints;
const addresses = [{ ip: '10.0.0.1' }];

t.test('conditions have the messages of 1.24', async (t) => {
  const rows: [name: string, observed: Observed, expected: string | undefined][] = [
    [
      'no service',
      { service: undefined, endpoints: undefined },
      'False ServiceNotFound service/b in "a" is not present',
    ],
    [
      'an unreadable service',
      { service: new Error('away'), endpoints: undefined },
      'Unknown ServiceAccessError service/b in "a" cannot be checked due to: away',
    ],
    [
      'another port',
      { service: service({ ports: [{ port: 80 }] }), endpoints: undefined },
      'False ServicePortError service/b in "a" is not listening on port 443',
    ],
    [
      'no endpoints',
      { service: service(), endpoints: undefined },
      'False EndpointsNotFound cannot find endpoints for service/b in "a"',
    ],
    [
      'unreadable endpoints',
      { service: service(), endpoints: new Error('away') },
      'Unknown EndpointsAccessError service/b in "a" cannot be checked due to: away',
    ],
    [
      'no endpoint',
      {
        service: service(),
        endpoints: endpointsOf([{ notReadyAddresses: addresses, ports: [{ name: 'https', port: 1 }] }]),
      },
      'False MissingEndpoints endpoints for service/b in "a" have no addresses with port name "https"',
    ],
    [
      'an endpoint at another port',
      { service: service(), endpoints: endpointsOf([{ addresses, ports: [{ name: 'http', port: 1 }] }]) },
      'False MissingEndpoints endpoints for service/b in "a" have no addresses with port name "https"',
    ],
    [
      'an endpoint',
      { service: service(), endpoints: endpointsOf([{ addresses, ports: [{ name: 'https', port: 1 }] }]) },
      undefined,
    ],
    ['a name elsewhere', { service: service({ type: 'ExternalName', ports: [] }), endpoints: undefined }, undefined],
  ];
  for (const [name, observed, expected] of rows) {
    const fault = clusterFault(remote, observed);
    t.equal(fault && `${fault.status} ${fault.reason} ${fault.message}`, expected, name);
  }
});

t.test('the trusted authorities of an extension server', async (t) => {
  const caBundle = Buffer.from('PEM').toString('base64');
  const trust = (spec: Partial<APIService['spec']>) => remoteService(object(spec))?.trust;
  const serverName = 'b.a.svc';
  t.same(trust({}), { serverName, systemTrust: true });
  t.same(trust({ caBundle }), { serverName, ca: 'PEM' });
  t.same(trust({ insecureSkipTLSVerify: true }), { serverName });
  const { service: _, ...local } = object().spec;
  t.equal(remoteService({ metadata: {}, spec: local }), undefined);
});

t.test('the server of a version follows the objects', async (t) => {
  const all = new ApiServices();
  t.equal(all.remotes.size, 0);
  all.replaced([object()]);
  t.match(all.find('example.com', 'v1'), { name: 'v1.example.com', available: false });
  all.changed({ ...object(), status: { conditions: [{ type: 'Available', status: 'True' }] } } as APIService);
  t.equal(all.find('example.com', 'v1')?.available, true);
  t.equal(all.find('example.com', 'v2'), undefined);
  const { service: _, ...local } = object().spec;
  all.changed({ metadata: { name: 'v1.example.com' }, spec: local });
  t.equal(all.find('example.com', 'v1'), undefined);
  all.changed(object());
  all.replaced([]);
  t.equal(all.remotes.size, 0);
});

t.test('the user is passed on in headers', async (t) => {
  const extra = { 'example.com/Scopes': ['a', 'b'], empty: [] };
  t.same(userHeaders({ name: 'zoë', groups: ['a,b', 'c'], extra }), {
    'x-remote-user': Buffer.from('zoë').toString('latin1'),
    'x-remote-group': ['a,b', 'c'],
    'x-remote-extra-example.com%2FScopes': ['a', 'b'],
  });
  t.same(userHeaders({ name: 'a', groups: [] }), { 'x-remote-user': 'a' });
  t.throws(() => userHeaders({ name: 'a\r\nx-remote-group: b', groups: [] }), TypeError);
});

t.test('a changed Service is checked again, and a lost server is counted', async (t) => {
  const clock = new VirtualClock();
  const reader = new MemoryObjectReader();
  const apiServices = new ApiServices();
  const written: string[] = [];
  const counted: string[] = [];
  const client = {
    dialect: orchDialect,
    resource: () => ({
      updateStatus: async (next: APIService) => {
        const [condition] = next.status?.conditions ?? [];
        written.push(`${condition?.status} ${condition?.reason}`);
        apiServices.changed(next);
        return next;
      },
    }),
  } as unknown as Client;
  let failure: Error | undefined;
  const controller = new AvailabilityController({
    apiServices,
    reader,
    client,
    clock,
    log: silentLogger,
    metrics: {
      current: (name, available) => counted.push(`${name} ${available}`),
      lost: (name, reason) => counted.push(`${name} lost: ${reason}`),
      gone: (name) => counted.push(`${name} gone`),
    },
    check: async () => failure,
  });
  const stopping = new AbortController();
  await reader.follow(apiservices, apiServices, stopping.signal);
  const work = controller.run(stopping.signal);
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  reader.put(apiservices, object());
  await settle();
  t.same(written, ['False ServiceNotFound']);
  const external = { ...service({ type: 'ExternalName' }), metadata: { namespace: 'a', name: 'b' } };
  reader.put((await import('#api/core/v1/resources.gen.js')).services, external as Service);
  await settle();
  t.same(written.slice(1), ['True Passed']);
  failure = new Error('no answer');
  controller.checkAll();
  await settle();
  t.same(written.slice(2), ['False FailedDiscoveryCheck']);
  t.ok(counted.includes('v1.example.com lost: FailedDiscoveryCheck'));
  reader.remove(apiservices, '', 'v1.example.com');
  await settle();
  t.equal(counted.at(-1), 'v1.example.com gone');
  stopping.abort();
  await work;
});
