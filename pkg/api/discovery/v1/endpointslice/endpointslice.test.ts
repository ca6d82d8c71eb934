import t from 'tap';
import { endpointSliceStrategy } from '#api/discovery/v1/endpointslice/strategy.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { checkRules, type RuleRow } from '#api/testing/rule-table.js';
import { created, type Draft, updated, withField } from '#api/testing/strategy-table.js';
import { copyJson } from '#apimachinery/collections/copy.js';

const base: Draft = {
  metadata: { name: 's', namespace: 'ns' },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.0.0.1'] }],
  ports: [{ port: 80 }],
};
const zones = (count: number) => ({ forZones: Array.from({ length: count }, (_, i) => ({ name: `z${i}` })) });

const rows: RuleRow[] = [
  ['addressType', '', 'addressType: Required value'],
  ['addressType', 'Odd', 'addressType: Unsupported value: "Odd": supported values: "FQDN", "IPv4", "IPv6"'],
  ['endpoints.0.addresses', [], 'endpoints[0].addresses: Required value: must contain at least 1 address'],
  [
    'endpoints.0.addresses',
    Array.from({ length: 101 }, (_, i) => `10.0.0.${i}`),
    'endpoints[0].addresses: Too many: 101: must have at most 100 items',
  ],
  [
    'endpoints.0.addresses',
    ['fd00::1'],
    'endpoints[0].addresses[0]: Invalid value: "fd00::1": must be a valid IPv4 address',
  ],
  [
    'endpoints.0.addresses',
    ['127.0.0.1'],
    'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ],
  [
    'endpoints.0.addresses',
    ['::ffff:7f00:1'],
    'endpoints[0].addresses[0]: Invalid value: "::ffff:7f00:1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ],
  [
    'endpoints',
    Array.from({ length: 1001 }, () => ({ addresses: ['10.0.0.1'] })),
    'endpoints: Too many: 1001: must have at most 1000 items',
  ],
  [
    'endpoints.0.nodeName',
    'N',
    `endpoints[0].nodeName: Invalid value: "N": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ],
  [
    'endpoints.0.hostname',
    'a.b',
    `endpoints[0].hostname: Invalid value: "a.b": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
  ],
  ['endpoints.0.hints', zones(8)],
  ['endpoints.0.hints', zones(9), 'endpoints[0].hints.forZones: Too many: 9: must have at most 8 items'],
  ['endpoints.0.hints', { forZones: [{ name: '' }] }],
  [
    'ports',
    [{ name: 'A' }],
    `ports[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
  ],
  ['ports', [{ name: 'a' }, { name: 'a' }], 'ports[1].name: Duplicate value: "a"'],
  ['ports', [{ protocol: 'X' }], 'ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"'],
  [
    'ports',
    [{ appProtocol: '-' }],
    `ports[0].appProtocol: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
  ],
  [
    'ports',
    Array.from({ length: 101 }, (_, i) => ({ name: `p${i}` })),
    'ports: Too many: 101: must have at most 100 items',
  ],
];

t.test('endpoint slices are validated as in 1.24', (t) => {
  checkRules(t, endpointSliceStrategy, base, rows);
  const names: RuleRow[] = [
    ['endpoints.0.addresses', ['a.example.com']],
    [
      'endpoints.0.addresses',
      ['a'],
      'endpoints[0].addresses[0]: Invalid value: "a": should be a domain with at least two segments separated by dots',
    ],
    [
      'endpoints.0.addresses',
      ['A.b'],
      `endpoints[0].addresses[0]: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    ],
  ];
  const domain = withField(withField(base, 'addressType', 'FQDN'), 'endpoints.0.addresses', ['a.b']);
  checkRules(t, endpointSliceStrategy, domain, names);
  const six = withField(withField(base, 'addressType', 'IPv6'), 'endpoints.0.addresses', ['fd00::1']);
  checkRules(t, endpointSliceStrategy, six, [
    [
      'endpoints.0.addresses',
      ['10.0.0.1'],
      'endpoints[0].addresses[0]: Invalid value: "10.0.0.1": must be a valid IPv6 address',
    ],
  ]);
  t.end();
});

t.test('labels of nodes from the older version', (t) => {
  const labelled = withField(base, 'endpoints.0.deprecatedTopology', { 'orch.io/hostname': 'n', rack: 'r' });
  const slice = created(endpointSliceStrategy, labelled) as EndpointSlice;
  t.strictSame(slice.endpoints[0], { addresses: ['10.0.0.1'] });
  const stored = copyJson(created(endpointSliceStrategy, base) as EndpointSlice);
  stored.endpoints = [{ addresses: ['10.0.0.1'], deprecatedTopology: { 'orch.io/hostname': 'n' } }];
  const same = withField(base, 'endpoints', stored.endpoints);
  t.strictSame((updated(endpointSliceStrategy, same, stored) as EndpointSlice).endpoints, stored.endpoints);
  const moved = withField(same, 'endpoints.0.addresses', ['10.0.0.2']);
  t.strictSame((updated(endpointSliceStrategy, moved, stored) as EndpointSlice).endpoints, [
    { addresses: ['10.0.0.2'], nodeName: 'n' },
  ]);
  t.end();
});
