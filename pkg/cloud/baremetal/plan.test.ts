import t from 'tap';
import type { Service } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { planAddresses } from '#cloud/baremetal/plan.js';
import { type Pool, parseRange } from '#cloud/baremetal/pools.js';
import { addressesOfService } from '#cloud/baremetal/service-addresses.js';

const pool = (name: string, ranges: string[], rest: Partial<Pool> = {}): Pool => ({
  name,
  ranges: ranges.flatMap((range) => parseRange(range) ?? []),
  autoAssign: true,
  ...rest,
});
const pools = [
  pool('four', ['10.0.0.1-10.0.0.2']),
  pool('six', ['fd00::1-fd00::9']),
  pool('byName', ['10.1.0.1'], { autoAssign: false }),
  pool('team', ['10.2.0.1'], { autoAssign: false, namespaces: new Set(['team']) }),
];

interface Given {
  readonly name?: string;
  readonly claim?: string;
  readonly at?: string[];
  readonly pool?: string;
  readonly share?: string;
  readonly spec?: Partial<Service['spec']>;
  readonly namespace?: string;
  readonly age?: string;
}

function service({ name = 'x', claim, at = [], pool: of, share, spec, namespace = 'n', age = '5' }: Given): Service {
  const annotations = {
    ...(claim === undefined ? {} : { 'bare-metal.orch.io/addresses': claim }),
    ...(of === undefined ? {} : { 'bare-metal.orch.io/pool': of }),
    ...(share === undefined ? {} : { 'bare-metal.orch.io/sharing-key': share }),
  };
  return {
    metadata: { name, namespace, uid: name, creationTimestamp: `2022-05-03T12:00:0${age}Z`, annotations },
    spec: { type: 'LoadBalancer', ports: [{ port: 80, targetPort: 80 }], ...spec },
    status: { loadBalancer: { ingress: at.map((ip) => ({ ip })) } },
  };
}

const dual = { ipFamilies: ['IPv6', 'IPv4'] };
const claim = (...addresses: string[]) => ({ kind: 'claim', addresses });
const publish = (...addresses: string[]) => ({ kind: 'publish', addresses });
const refuse = (message: string) => ({ kind: 'refuse', message });

const rows: [string, Given, Given[], object][] = [
  ['the first free address', {}, [], claim('10.0.0.1')],
  ['a claim that the cache shows is published', { claim: '10.0.0.1' }, [], publish('10.0.0.1')],
  ['an address that another service publishes is in use', {}, [{ name: 'o', at: ['10.0.0.1'] }], claim('10.0.0.2')],
  ['an address that another service claims is in use', {}, [{ name: 'o', claim: '10.0.0.1' }], claim('10.0.0.2')],
  [
    'an address that a service of another type claims is in use',
    {},
    [{ name: 'o', at: ['10.0.0.1'], spec: { type: 'ClusterIP' } }],
    claim('10.0.0.2'),
  ],
  [
    'a claim from a forbidden pool does not count',
    {},
    [{ name: 'o', claim: '10.0.0.1', pool: 'team' }],
    claim('10.0.0.1'),
  ],
  [
    'a claim of a service without a load balancer does not count',
    {},
    [{ name: 'o', claim: '10.0.0.1', spec: { type: 'ClusterIP' } }],
    claim('10.0.0.1'),
  ],
  [
    'all pools are used up',
    {},
    [
      { name: 'o', at: ['10.0.0.1'] },
      { name: 'p', at: ['10.0.0.2'] },
    ],
    refuse('no free IPv4 address in the pools that the service may use'),
  ],
  [
    'two services claim an address: the older waits',
    { claim: '10.0.0.1', age: '1' },
    [{ name: 'o', claim: '10.0.0.1' }],
    { kind: 'wait' },
  ],
  [
    'two services claim an address: the younger drops its claim',
    { claim: '10.0.0.1' },
    [{ name: 'o', claim: '10.0.0.1', age: '1' }],
    claim('10.0.0.2'),
  ],
  [
    'a published service keeps its address',
    { at: ['10.0.0.1'], claim: '10.0.0.1' },
    [{ name: 'o', claim: '10.0.0.1', age: '1' }],
    publish('10.0.0.1'),
  ],
  ['a published address is claimed again after its claim was removed', { at: ['10.0.0.2'] }, [], claim('10.0.0.2')],
  [
    'two services publish an address: the younger drops it',
    { at: ['10.0.0.1'], claim: '10.0.0.1' },
    [{ name: 'o', at: ['10.0.0.1'], age: '1' }],
    claim('10.0.0.2'),
  ],
  [
    'two services publish an address: the older keeps it',
    { at: ['10.0.0.1'], claim: '10.0.0.1', age: '1' },
    [{ name: 'o', at: ['10.0.0.1'] }],
    publish('10.0.0.1'),
  ],
  ['a pool that the service names', { pool: 'byName' }, [], claim('10.1.0.1')],
  [
    'another pool that the service names',
    { pool: 'byName', at: ['10.0.0.1'], claim: '10.0.0.1' },
    [],
    claim('10.1.0.1'),
  ],
  ['an unknown pool', { pool: 'z' }, [], refuse('there is no pool "z"')],
  ['a pool of another namespace', { pool: 'team' }, [], refuse('the namespace "n" may not use the pool "team"')],
  ['a pool of the namespace', { pool: 'team', namespace: 'team' }, [], claim('10.2.0.1')],
  [
    'the named pool is used up',
    { pool: 'byName' },
    [{ name: 'o', at: ['10.1.0.1'] }],
    refuse('no free IPv4 address in the pool "byName"'),
  ],
  ['a claim that cannot be published is dropped', { claim: '10.1.0.1', pool: 'team' }, [], claim()],
  ['an address that the service names', { spec: { loadBalancerIP: '10.1.0.1' } }, [], claim('10.1.0.1')],
  ['an address in another form', { spec: { loadBalancerIP: 'FD00:0::2', ipFamilies: ['IPv6'] } }, [], claim('fd00::2')],
  [
    'an address outside of the pools',
    { spec: { loadBalancerIP: '10.2.0.1' } },
    [],
    refuse('loadBalancerIP "10.2.0.1" is not in a pool that the service may use'),
  ],
  [
    'an address that is in use',
    { spec: { loadBalancerIP: '10.0.0.1' } },
    [{ name: 'o', at: ['10.0.0.1'] }],
    refuse('loadBalancerIP "10.0.0.1" is in use'),
  ],
  [
    'an address of another family',
    { spec: { loadBalancerIP: 'fd00::1' } },
    [],
    refuse('loadBalancerIP "fd00::1" is not of an IP family of the service'),
  ],
  [
    'another named address',
    { at: ['10.0.0.1'], claim: '10.0.0.1', spec: { loadBalancerIP: '10.0.0.2' } },
    [],
    claim('10.0.0.2'),
  ],
  ['both families', { spec: { ...dual, ipFamilyPolicy: 'RequireDualStack' } }, [], claim('fd00::1', '10.0.0.1')],
  [
    'one of two families, if preferred',
    { pool: 'byName', spec: { ...dual, ipFamilyPolicy: 'PreferDualStack' } },
    [],
    claim('10.1.0.1'),
  ],
  [
    'one of two families, if both are required',
    { pool: 'byName', spec: { ...dual, ipFamilyPolicy: 'RequireDualStack' } },
    [],
    refuse('no free IPv6 address in the pool "byName"'),
  ],
  [
    'a family that the service no longer has',
    { claim: 'fd00::1,10.0.0.1', at: ['fd00::1', '10.0.0.1'], spec: { ipFamilies: ['IPv6'] } },
    [],
    claim('fd00::1'),
  ],
  ['an address stays after its pool was removed', { at: ['10.9.0.1'], claim: '10.9.0.1' }, [], publish('10.9.0.1')],
  ['two claims of one family', { claim: '10.0.0.1,10.0.0.2' }, [], publish('10.0.0.1')],
  ['a claim that is not an address', { claim: 'a,,10.0.0.300' }, [], claim('10.0.0.1')],
  [
    'shared',
    { share: 'k' },
    [{ name: 'o', share: 'k', at: ['10.0.0.2'], spec: { ports: [{ port: 81 }] } }],
    claim('10.0.0.2'),
  ],
  ['not on the same port', { share: 'k' }, [{ name: 'o', share: 'k', at: ['10.0.0.1'] }], claim('10.0.0.2')],
  [
    'not across namespaces',
    { share: 'k' },
    [{ name: 'o', share: 'k', namespace: 'm', at: ['10.0.0.1'], spec: { ports: [{ port: 81 }] } }],
    claim('10.0.0.2'),
  ],
  [
    'not with local endpoints',
    { share: 'k', spec: { externalTrafficPolicy: 'Local' } },
    [{ name: 'o', share: 'k', at: ['10.0.0.1'], spec: { ports: [{ port: 81 }] } }],
    claim('10.0.0.2'),
  ],
];

for (const [name, settings, others, want] of rows) {
  t.test(name, async (t) => {
    const own = service(settings);
    const all = [own, ...others.map(service)];
    const plan = planAddresses(own, {
      dialect,
      pools,
      holders: (address) =>
        all.filter((each) => {
          const { claimed, published } = addressesOfService(dialect, each);
          return [...claimed, ...published].includes(address);
        }),
      sharers: (namespace, key) =>
        all.filter(
          ({ metadata }) =>
            metadata.namespace === namespace && metadata.annotations?.['bare-metal.orch.io/sharing-key'] === key,
        ),
    });
    t.same(plan, want);
  });
}
