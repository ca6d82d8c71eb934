import t from 'tap';
import { endpointsStrategy } from '#api/core/v1/endpoints/strategy.js';
import { endpointSliceStrategy } from '#api/discovery/v1/endpointslice/strategy.js';
import {
  created,
  createFailures,
  type Draft,
  testContext,
  updated,
  updateFailures,
  withField,
} from '#api/testing/strategy-table.js';

type Row = [string, unknown, ...string[]];
const creationTime = '2024-05-31T23:00:00Z';
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const badIP = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';

t.test('endpoints', (t) => {
  const base: Draft = {
    metadata: { name: 'e', namespace: 'ns', creationTimestamp: creationTime },
    subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }],
  };
  const s = 'subsets[0]';
  const rows: Row[] = [
    ['subsets', []],
    ['subsets', [{}], `${s}: Required value: must specify \`addresses\` or \`notReadyAddresses\``],
    [
      'subsets.0.addresses.0.ip',
      'x',
      `${s}.addresses[0].ip: Invalid value: "x": ${badIP}`,
      `${s}.addresses[0].ip: Invalid value: "x": must be a valid IP address`,
    ],
    [
      'subsets.0.addresses.0.ip',
      '127.0.0.1',
      `${s}.addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
    ],
    [
      'subsets.0.addresses.0.ip',
      '169.254.1.1',
      `${s}.addresses[0].ip: Invalid value: "169.254.1.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)`,
    ],
    [
      'subsets.0.addresses.0.ip',
      '224.0.0.1',
      `${s}.addresses[0].ip: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)`,
    ],
    ...['::ffff:7f00:1', '0::1', '::ffff:127.0.0.1'].map(
      (ip): Row => [
        'subsets.0.addresses.0.ip',
        ip,
        `${s}.addresses[0].ip: Invalid value: "${ip}": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
      ],
    ),
    ['subsets.0.addresses.0.ip', '::0', `${s}.addresses[0].ip: Invalid value: "::0": may not be unspecified (::0)`],
    [
      'subsets.0.addresses.0.ip',
      '::ffff:a9fe:a9fe',
      `${s}.addresses[0].ip: Invalid value: "::ffff:a9fe:a9fe": may not be in the link-local range (169.254.0.0/16, fe80::/10)`,
    ],
    ['subsets.0.addresses.0.hostname', 'A', `${s}.addresses[0].hostname: Invalid value: "A": ${label}`],
    ['subsets.0.ports', [{ port: 1 }, { name: 'b', port: 2 }], `${s}.ports[0].name: Required value`],
    ['subsets.0.ports', [{ port: 0 }], `${s}.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive`],
    [
      'subsets.0.ports',
      [{ port: 1, protocol: 'X' }],
      `${s}.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"`,
    ],
  ];
  t.strictSame(createFailures(endpointsStrategy, base), []);
  for (const [path, value, ...want] of rows) {
    t.strictSame(
      createFailures(endpointsStrategy, withField(base, path, value)),
      want,
      `${path} = ${JSON.stringify(value)}`,
    );
  }
  const cell = (subsets: unknown): unknown =>
    endpointsStrategy.cells?.(created(endpointsStrategy, withField(base, 'subsets', subsets)) as never, testContext)[1];
  t.equal(cell([]), '<none>');
  t.equal(
    cell([{ addresses: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }], ports: [{ port: 80 }] }]),
    '10.0.0.1:80,[fd00::1]:80',
  );
  t.equal(cell([{ addresses: [{ ip: '10.0.0.1' }] }]), '10.0.0.1');
  t.equal(cell([{ notReadyAddresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }]), '', 'no endpoint is ready');
  const many = ['1', '2', '3', '4', '5'].map((n) => ({ ip: `10.0.0.${n}` }));
  t.equal(cell([{ addresses: many, ports: [{ port: 80 }] }]), '10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 2 more...');
  t.equal(endpointsStrategy.allowCreateOnUpdate, true);
  t.end();
});

t.test('endpoint slices', (t) => {
  const base: Draft = {
    metadata: { name: 'e', namespace: 'ns', creationTimestamp: creationTime },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'] }],
    ports: [{ port: 80 }],
  };
  const e = 'endpoints[0]';
  const rows: Row[] = [
    ['addressType', '', 'addressType: Required value'],
    ['addressType', 'X', 'addressType: Unsupported value: "X": supported values: "FQDN", "IPv4", "IPv6"'],
    ['addressType', 'IPv6', `${e}.addresses[0]: Invalid value: "10.0.0.1": must be a valid IPv6 address`],
    ['endpoints.0.addresses', ['fd00::1'], `${e}.addresses[0]: Invalid value: "fd00::1": must be a valid IPv4 address`],
    ['endpoints.0.addresses', [], `${e}.addresses: Required value: must contain at least 1 address`],
    [
      'endpoints.0.addresses',
      new Array(101).fill('10.0.0.1'),
      `${e}.addresses: Too many: 101: must have at most 100 items`,
    ],
    [
      'endpoints',
      new Array(1001).fill({ addresses: ['10.0.0.1'] }),
      'endpoints: Too many: 1001: must have at most 1000 items',
    ],
    ['endpoints.0.hostname', 'A', `${e}.hostname: Invalid value: "A": ${label}`],
    [
      'endpoints.0.hints',
      { forZones: [{ name: 'a' }, { name: 'a' }] },
      `${e}.hints.forZones[1].name: Duplicate value: "a"`,
    ],
    ['ports', [{ port: 1 }, { port: 2 }], 'ports[1].name: Duplicate value: ""'],
    ['ports', [{ name: 'A' }], `ports[0].name: Invalid value: "A": ${label}`],
    ['ports', [{ protocol: 'X' }], 'ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"'],
  ];
  t.strictSame(createFailures(endpointSliceStrategy, base), []);
  for (const [path, value, ...want] of rows) {
    t.strictSame(createFailures(endpointSliceStrategy, withField(base, path, value)), want, path);
  }
  const named = { addressType: 'FQDN', endpoints: [{ addresses: ['a'] }] };
  t.strictSame(createFailures(endpointSliceStrategy, { ...base, ...named }), [
    `${e}.addresses[0]: Invalid value: "a": should be a domain with at least two segments separated by dots`,
  ]);
  t.match(updateFailures(endpointSliceStrategy, base, { ...base, addressType: 'FQDN', endpoints: [] }), [
    'addressType: Invalid value: "FQDN": field is immutable',
  ]);
  const old = created(endpointSliceStrategy, base);
  t.equal(updated(endpointSliceStrategy, base, old).metadata.generation, 1);
  t.equal(updated(endpointSliceStrategy, withField(base, 'metadata.labels', { a: 'b' }), old).metadata.generation, 2);
  t.equal(updated(endpointSliceStrategy, withField(base, 'endpoints', []), old).metadata.generation, 2);
  t.strictSame(endpointSliceStrategy.cells?.(old as never, testContext), ['e', 'IPv4', '80', '10.0.0.1', '60m']);
  const empty = created(endpointSliceStrategy, { ...base, endpoints: [], ports: [] });
  t.strictSame(endpointSliceStrategy.cells?.(empty as never, testContext).slice(2, 4), ['<unset>', '<unset>']);
  t.end();
});
