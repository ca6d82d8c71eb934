import t from 'tap';
import type { Node, Service } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { addressesOf, announcerOf } from '#cloud/baremetal/announcers.js';

const addresses = Array.from({ length: 200 }, (_, i) => `192.0.2.${i}`);
const names = ['a', 'b', 'c', 'd'];

t.test('addresses are spread over nodes, and few move when a node leaves', async (t) => {
  const before = addresses.map((address) => announcerOf(address, names));
  for (const name of names) {
    const count = before.filter((each) => each === name).length;
    t.ok(count > 25 && count < 75, `${name}: ${count}`);
  }
  t.same(
    addresses.map((address) => announcerOf(address, [...names].reverse())),
    before,
    'whatever the order',
  );
  const after = addresses.map((address) => announcerOf(address, ['a', 'b', 'd']));
  for (const [i, was] of before.entries()) if (was !== 'c') t.equal(after[i], was);
  t.equal(announcerOf('192.0.2.1', []), undefined);
});

t.test('a node announces its share of the published addresses', async (t) => {
  const node = (name: string, status: string): Node => ({
    metadata: { name },
    spec: {},
    status: { conditions: [{ type: 'Ready', status }] },
  });
  const service = (claimed: string | undefined, published: string[], spec: Partial<Service['spec']> = {}): Service => ({
    metadata: {
      name: 'x',
      ...(claimed === undefined ? {} : { annotations: { 'bare-metal.orch.io/addresses': claimed } }),
    },
    spec: { type: 'LoadBalancer', ...spec },
    status: { loadBalancer: { ingress: published.map((ip) => ({ ip })) } },
  });
  const nodes = [node('a', 'True'), node('b', 'Unknown')];
  const local = { externalTrafficPolicy: 'Local' };
  const rows: [Service, string[]][] = [
    [service('192.0.2.1,fd00::1', ['192.0.2.1', 'fd00::1']), ['192.0.2.1', 'fd00::1']],
    [service('192.0.2.1', []), []],
    [service(undefined, ['192.0.2.1']), []],
    [service('192.0.2.1', ['192.0.2.2']), []],
    [service('192.0.2.1', ['192.0.2.1'], { type: 'ClusterIP' }), []],
    [service('192.0.2.1', ['192.0.2.1'], { loadBalancerClass: 'x.io/y' }), []],
  ];
  const of = (name: string, service: Service, ...withEndpoints: string[]) => [
    ...addressesOf(name, dialect, { nodes, services: [service], nodesWithEndpoints: () => new Set(withEndpoints) }),
  ];
  for (const [given, want] of rows) t.same(of('a', given), want);
  for (const [given] of rows) t.same(of('b', given), [], 'a node that is not ready announces nothing');
  const kept = service('192.0.2.1', ['192.0.2.1'], local);
  t.same(of('a', kept, 'a'), ['192.0.2.1'], 'policy Local: a node with endpoints announces');
  t.same(of('a', kept, 'b'), [], 'policy Local: a node without endpoints does not announce');
});
