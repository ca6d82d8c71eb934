import t from 'tap';
import type { Pod, Service } from '#api/core/v1/types.gen.js';
import type { Endpoint, EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { planEndpoints } from '#controllers/endpoint/plan.js';
import { desiredGroups } from '#controllers/endpointslice/desired.js';
import { planSlices } from '#controllers/endpointslice/plan.js';

interface Traits {
  ip?: string;
  ready?: boolean;
  leaving?: boolean;
  phase?: string;
  portName?: string;
  hostname?: string;
}

function pod(
  name: string,
  {
    ip = `10.0.0.${name.length}`,
    ready = true,
    leaving = false,
    phase = 'Running',
    portName = 'http',
    hostname,
  }: Traits = {},
): Pod {
  return {
    metadata: {
      name,
      namespace: 'n',
      uid: name,
      labels: { a: 'b' },
      ...(leaving ? { deletionTimestamp: '2022-05-03T00:00:00Z' } : {}),
    },
    spec: {
      containers: [{ name: 'c', ports: [{ name: portName, containerPort: 8080 }] }],
      nodeName: 'n1',
      ...(hostname === undefined ? {} : { hostname, subdomain: 's' }),
    },
    status: {
      phase,
      ...(ip === '' ? {} : { podIP: ip, podIPs: ip.split(',').map((each) => ({ ip: each })) }),
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  };
}

function service(spec: Partial<Service['spec']> = {}): Service {
  return {
    metadata: { name: 's', namespace: 'n', uid: 's', labels: { team: 'x' } },
    spec: {
      selector: { a: 'b' },
      clusterIP: '10.96.0.1',
      ports: [{ name: 'web', port: 80, targetPort: 'http' }],
      ...spec,
    },
  };
}

const nodeOf = () => ({ metadata: { labels: { [dialect.labels.zone]: 'z1' } }, spec: {} });

t.test('endpoints show addresses, conditions and ports of selected pods', (t) => {
  const one = (of: Service, of2: Pod) => {
    const [group] = [...desiredGroups(dialect, of, [of2], nodeOf).values()];
    return group === undefined
      ? undefined
      : { type: group.addressType, ports: group.ports, ...[...group.endpoints.values()][0] };
  };
  const ready = { ready: true, serving: true, terminating: false };
  t.match(one(service(), pod('p')), {
    type: 'IPv4',
    ports: [{ name: 'web', port: 8080, protocol: 'TCP' }],
    addresses: ['10.0.0.1'],
    conditions: ready,
    nodeName: 'n1',
    zone: 'z1',
    targetRef: { kind: 'Pod', name: 'p', namespace: 'n', uid: 'p' },
  });
  const rows: [string, Service, Pod, unknown][] = [
    ['not ready', service(), pod('p', { ready: false }), { ready: false, serving: false, terminating: false }],
    ['leaving', service(), pod('p', { leaving: true }), { ready: false, serving: true, terminating: true }],
    [
      'not ready but published',
      service({ publishNotReadyAddresses: true }),
      pod('p', { ready: false }),
      { ready: true, serving: false },
    ],
    ['ended', service(), pod('p', { phase: 'Succeeded' }), undefined],
    ['without an address', service(), pod('p', { ip: '' }), undefined],
    ['without the port', service(), pod('p', { portName: 'other' }), ready],
    ['not selected', service({ selector: { a: 'c' } }), pod('p'), undefined],
    ['headless without ports', service({ clusterIP: 'None', ports: [] }), pod('p'), ready],
    ['without ports', service({ ports: [] }), pod('p'), ready],
    ['a numbered port', service({ ports: [{ port: 80, targetPort: 9 }] }), pod('p'), ready],
    ['of the other family', service({ ipFamilies: ['IPv6'] }), pod('p'), undefined],
  ];
  for (const [name, of, of2, want] of rows) {
    if (want === undefined) t.equal(one(of, of2), undefined, name);
    else t.match(one(of, of2)?.conditions, want as object, name);
  }
  t.equal(one(service(), pod('p', { hostname: 'h' }))?.hostname, 'h');
  t.equal(
    desiredGroups(dialect, service({ ipFamilies: ['IPv4', 'IPv6'] }), [pod('p', { ip: '10.0.0.1,fd00::1' })], nodeOf)
      .size,
    2,
  );
  t.end();
});

const ports = [{ name: '', port: 80, protocol: 'TCP' }];

function endpoint(name: string, ready = true): Endpoint {
  return { addresses: [name], conditions: { ready }, targetRef: { kind: 'Pod', name, uid: name } };
}

function slice(name: string, endpoints: Endpoint[], more: Partial<EndpointSlice> = {}): EndpointSlice {
  return { metadata: { name, labels: { l: '1' } }, addressType: 'IPv4', ports, endpoints, ...more };
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => endpoint(`e${from + i}`));

function plan(desired: Endpoint[], slices: EndpointSlice[], maxEndpoints = 3) {
  const id = (each: Endpoint) => JSON.stringify([each.targetRef?.uid, each.addresses]);
  const group = { addressType: 'IPv4' as const, ports, endpoints: new Map(desired.map((each) => [id(each), each])) };
  const planned = planSlices({
    groups: desired.length === 0 ? new Map() : new Map([['IPv4 ["",80,"TCP",null]', group]]),
    slices,
    blank: ({ ports: of }) => ({
      metadata: { generateName: 's-', labels: { l: '1' } },
      addressType: 'IPv4',
      endpoints: [],
      ports: [...of],
    }),
    maxEndpoints,
    addressTypes: ['IPv4'],
  });
  const show = (list: readonly EndpointSlice[]) =>
    list.map((each) => `${each.metadata.name ?? '+'}:${each.endpoints.map((e) => e.addresses[0]).join(' ')}`);
  return { create: show(planned.creates), update: show(planned.updates), delete: show(planned.deletes) };
}

t.test('changes cause few slices and few writes', (t) => {
  const none = { create: [], update: [], delete: [] };
  const empty = slice('p', [], { ports: [] });
  const rows: [string, Endpoint[], EndpointSlice[], Partial<typeof none | Record<string, string[]>>][] = [
    ['an empty service gets an empty slice', [], [], { create: ['+:'] }],
    ['the empty slice stays', [], [empty], {}],
    ['the empty slice is replaced', range(0, 1), [empty], { create: ['+:e0'], delete: ['p:'] }],
    ['new endpoints fill new slices', range(0, 4), [], { create: ['+:e0 e1 e2', '+:e3'] }],
    ['nothing changed', range(0, 2), [slice('a', range(0, 2))], {}],
    ['a changed condition', [endpoint('e0', false)], [slice('a', range(0, 1))], { update: ['a:e0'] }],
    [
      'a new endpoint takes the place of a removed endpoint',
      range(1, 4),
      [slice('a', range(0, 3))],
      { update: ['a:e1 e2 e3'] },
    ],
    [
      'the fullest slice with room is filled',
      range(0, 6),
      [slice('a', range(0, 1)), slice('b', range(1, 3)), slice('c', range(3, 5))],
      { update: ['b:e1 e2 e5'] },
    ],
    [
      'changed slices are filled first',
      range(1, 6),
      [slice('a', range(0, 3)), slice('b', range(3, 5))],
      { update: ['a:e1 e2 e5'] },
    ],
    [
      'an empty slice is deleted',
      range(0, 1),
      [slice('a', range(0, 1)), slice('b', range(5, 6))],
      { delete: ['b:e5'] },
    ],
    ['labels are repaired', range(0, 1), [slice('a', range(0, 1), { metadata: { name: 'a' } })], { update: ['a:e0'] }],
    [
      'other ports',
      range(0, 1),
      [slice('a', range(0, 1), { ports: [{ port: 81 }] })],
      { create: ['+:e0'], delete: ['a:e0'] },
    ],
  ];
  for (const [name, desired, slices, want] of rows) {
    t.same(plan(desired, slices), { ...none, ...want }, name);
  }
  t.end();
});

t.test('Endpoints list ready and unready addresses, at most 1000', (t) => {
  const pods = [
    pod('b'),
    pod('aa', { ready: false }),
    pod('ccc', { leaving: true }),
    pod('dddd', { portName: 'other' }),
  ];
  const planned = planEndpoints({ dialect, service: service(), pods, current: undefined });
  t.match(planned, {
    kind: 'create',
    endpoints: {
      metadata: { name: 's', namespace: 'n', labels: { team: 'x' } },
      subsets: [
        {
          addresses: [{ ip: '10.0.0.1', nodeName: 'n1', targetRef: { name: 'b' } }],
          notReadyAddresses: [{ ip: '10.0.0.2' }],
          ports: [{ name: 'web', port: 8080, protocol: 'TCP' }],
        },
      ],
    },
  });
  const current = planned.kind === 'none' ? undefined : planned.endpoints;
  t.same(planEndpoints({ dialect, service: service(), pods, current }), { kind: 'none' });
  t.equal(
    planEndpoints({ dialect, service: service({ clusterIP: 'None' }), pods, current }).kind,
    'update',
    'the headless label',
  );
  const many = Array.from({ length: 1500 }, (_, i) =>
    pod(`p${i}`, { ip: `10.1.${i >> 8}.${i & 255}`, ready: i >= 700 }),
  );
  const large = planEndpoints({ dialect, service: service(), pods: many, current: undefined });
  t.equal(large.kind === 'create' && large.endpoints.subsets?.[0]?.addresses?.length, 800, 'ready addresses first');
  t.equal(large.kind === 'create' && large.endpoints.subsets?.[0]?.notReadyAddresses?.length, 200);
  t.equal(
    large.kind === 'create' && large.endpoints.metadata.annotations?.[dialect.annotations.overCapacity],
    'truncated',
  );
  t.end();
});
