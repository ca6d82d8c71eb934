import t from 'tap';
import { ingressStrategy } from '#api/networking/v1/ingress/strategy.js';
import { networkPolicyStrategy } from '#api/networking/v1/networkpolicy/strategy.js';
import { created, createFailures, type Draft, testContext, withField } from '#api/testing/strategy-table.js';

type Row = [string, unknown, ...string[]];
const metadata = { name: 'n', namespace: 'ns', creationTimestamp: '2024-05-31T23:00:00Z' };

t.test('network policies', (t) => {
  const base: Draft = { metadata, spec: { podSelector: {} } };
  const rows: Row[] = [
    ['spec.ingress', [{ from: [{}] }], 'spec.ingress[0].from[0]: Required value: must specify a peer'],
    ['spec.ingress', [{ from: [{ podSelector: {} }] }]],
    [
      'spec.ingress',
      [{ from: [{ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }] }],
      'spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer',
    ],
    [
      'spec.ingress',
      [{ from: [{ ipBlock: { cidr: 'x' } }] }],
      'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "x": not a valid CIDR',
    ],
    [
      'spec.egress',
      [{ to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/16'] } }] }],
      'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
    ],
    [
      'spec.ingress',
      [{ ports: [{ port: 80, endPort: 79 }] }],
      'spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`',
    ],
    ['spec.policyTypes', ['X'], 'spec.policyTypes[0]: Unsupported value: "X": supported values: "Ingress", "Egress"'],
  ];
  for (const [path, value, ...want] of rows)
    t.strictSame(createFailures(networkPolicyStrategy, withField(base, path, value)), want, path);
  t.match(created(networkPolicyStrategy, base), { spec: { policyTypes: ['Ingress'] } });
  t.match(created(networkPolicyStrategy, withField(base, 'spec.egress', [{}])), {
    spec: { policyTypes: ['Ingress', 'Egress'] },
  });
  t.end();
});

t.test('ingresses', (t) => {
  const backend = { service: { name: 's', port: { number: 80 } } };
  const path = { path: '/', pathType: 'Prefix', backend };
  const base: Draft = { metadata, spec: { rules: [{ host: 'a.b', http: { paths: [path] } }] } };
  const p = 'spec.rules[0].http.paths[0]';
  const rows: Row[] = [
    [
      'spec',
      {},
      'spec: Invalid value: []networking.IngressRule(nil): either `defaultBackend` or `rules` must be specified',
    ],
    [
      'spec.rules.0.host',
      '1.2.3.4',
      'spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
    ],
    ['spec.rules.0.host', '*.a.b'],
    ['spec.rules.0.http.paths', [], 'spec.rules[0].http.paths: Required value'],
    ['spec.rules.0.http.paths', [{ ...path, path: 'x' }], `${p}.path: Invalid value: "x": must be an absolute path`],
    [
      'spec.rules.0.http.paths',
      [{ ...path, path: '/a//b' }],
      `${p}.path: Invalid value: "/a//b": must not contain '//'`,
    ],
    ['spec.rules.0.http.paths', [{ backend }], `${p}.pathType: Required value: pathType must be specified`],
    [
      'spec.rules.0.http.paths',
      [{ ...path, backend: { service: { name: 's' } } }],
      `${p}.backend: Required value: port name or number is required`,
    ],
  ];
  t.strictSame(createFailures(ingressStrategy, base), []);
  for (const [at, value, ...want] of rows)
    t.strictSame(createFailures(ingressStrategy, withField(base, at, value)), want, at);
  t.strictSame(ingressStrategy.cells?.(created(ingressStrategy, base) as never, testContext), [
    'n',
    '<none>',
    'a.b',
    '',
    '80',
    '60m',
  ]);
  t.end();
});
