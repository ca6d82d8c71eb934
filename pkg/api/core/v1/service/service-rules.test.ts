import t from 'tap';
import { serviceStrategy } from '#api/core/v1/service/strategy.js';
import type { Service } from '#api/core/v1/types.gen.js';
import { checkRules, checkStatusRules, type RuleRow } from '#api/testing/rule-table.js';
import {
  changeFailures,
  created,
  createFailures,
  type Draft,
  testContext,
  updated,
  updateFailures,
  withField,
  withGates,
} from '#api/testing/strategy-table.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';

const base: Draft = { metadata: { name: 's', namespace: 'ns' }, spec: { ports: [{ port: 80 }] } };
const spec = (fields: object, ...failures: string[]): RuleRow => [
  'spec',
  { ports: [{ port: 80 }], ...fields },
  ...failures,
];
const balanced = (fields: object, ...failures: string[]): RuleRow =>
  spec({ type: 'LoadBalancer', ...fields }, ...failures);
const ranges = 'service.beta.orch.io/load-balancer-source-ranges';

const addresses: RuleRow[] = [
  spec({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'] }),
  spec({
    clusterIP: '10.0.0.1',
    clusterIPs: ['10.0.0.1', 'fd00::1'],
    ipFamilies: ['IPv4', 'IPv6'],
    ipFamilyPolicy: 'PreferDualStack',
  }),
  spec(
    { clusterIP: 'None', clusterIPs: ['None', '10.0.0.1'] },
    `spec.clusterIPs: Invalid value: []string{"None", "10.0.0.1"}: 'None' must be the first and only value`,
  ),
  spec(
    { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'None'] },
    'spec.clusterIPs[1]: Invalid value: "None": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ),
  spec(
    { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.2'] },
    'spec.clusterIPs: Invalid value: []string{"10.0.0.2"}: first value must match `clusterIP`',
  ),
  spec(
    { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', '10.0.0.2'] },
    'spec.clusterIPs: Invalid value: []string{"10.0.0.1", "10.0.0.2"}: may specify no more than one IP for each IP family',
  ),
  spec(
    { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1', '10.0.0.3'] },
    'spec.clusterIPs: Invalid value: []string{"10.0.0.1", "fd00::1", "10.0.0.3"}: may only hold up to 2 values',
  ),
  spec(
    { clusterIP: '10.0.0.1', ipFamilies: ['IPv6'] },
    'spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`',
  ),
  spec(
    { clusterIP: 'fd00::1', ipFamilies: ['IPv4'] },
    'spec.clusterIPs[0]: Invalid value: "fd00::1": expected an IPv4 value as indicated by `ipFamilies[0]`',
  ),
  spec({ clusterIP: 'None', ipFamilies: ['IPv6'] }),
  spec({ ipFamilies: ['IPv5'] }, 'spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"'),
  spec({ ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' }),
  spec(
    { type: 'ExternalName', externalName: 'a', ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
    'spec.ipFamilies: Forbidden: may not be set for ExternalName services',
    'spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services',
  ),
  spec(
    { type: 'ExternalName', externalName: '-' },
    `spec.externalName: Invalid value: "-": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ),
  spec(
    { type: 'LoadBalancer', clusterIP: 'None' },
    `spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for LoadBalancer services`,
  ),
  spec(
    { externalIPs: ['x'] },
    'spec.externalIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ),
  spec(
    { externalIPs: ['fe80::1'] },
    'spec.externalIPs[0]: Invalid value: "fe80::1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
  ),
];

const ports: RuleRow[] = [
  [
    'spec.ports',
    [{ port: 80, name: 'A_' }],
    `spec.ports[0].name: Invalid value: "A_": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
  ],
  ['spec.ports', [{ port: 80, appProtocol: 'example.com/h2c' }]],
  [
    'spec.ports',
    [{ port: 80, appProtocol: '-' }],
    `spec.ports[0].appProtocol: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
  ],
  [
    'spec.ports',
    [{ port: 65536 }],
    'spec.ports[0].port: Invalid value: 65536: must be between 1 and 65535, inclusive',
    'spec.ports[0].targetPort: Invalid value: 65536: must be between 1 and 65535, inclusive',
  ],
  [
    'spec.ports',
    [{ port: 80, targetPort: 'WEB_PORT' }],
    'spec.ports[0].targetPort: Invalid value: "WEB_PORT": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    'spec.ports[0].targetPort: Invalid value: "WEB_PORT": must contain at least one letter or number (a-z, 0-9)',
  ],
  balanced(
    { ports: [{ port: 10250 }] },
    'spec.ports[0]: Invalid value: 10250: may not expose port 10250 externally since it is used by nodeagent',
  ),
  spec({ ports: [{ port: 10250 }] }),
  spec(
    {
      type: 'NodePort',
      ports: [
        { name: 'a', port: 1, nodePort: 30000 },
        { name: 'b', port: 2, nodePort: 30000 },
      ],
    },
    'spec.ports[1].nodePort: Duplicate value: 30000',
  ),
  spec({
    type: 'NodePort',
    ports: [
      { name: 'a', port: 1, nodePort: 30000 },
      { name: 'b', port: 2, nodePort: 30000, protocol: 'UDP' },
    ],
  }),
  balanced({
    ports: [
      { name: 'a', port: 1 },
      { name: 'b', port: 1, protocol: 'UDP' },
    ],
  }),
  spec({ clusterIP: 'None', ports: [] }),
];

const balancing: RuleRow[] = [
  balanced({ loadBalancerSourceRanges: ['10.0.0.0/8', ' 192.168.0.0/16'] }),
  balanced(
    { loadBalancerSourceRanges: ['10.0.0.0/8', 'x'] },
    'spec.LoadBalancerSourceRanges: Invalid value: "[10.0.0.0/8 x]": must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 ',
  ),
  balanced({ loadBalancerClass: 'example.com/lb' }),
  balanced(
    { loadBalancerClass: '-' },
    `spec.loadBalancerClass: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
  ),
  spec(
    { loadBalancerClass: 'example.com/lb' },
    "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
  ),
  spec(
    { allocateLoadBalancerNodePorts: true },
    "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
  ),
  balanced({ allocateLoadBalancerNodePorts: false }),
  balanced({ externalTrafficPolicy: 'Local', healthCheckNodePort: 30001 }),
  balanced(
    { externalTrafficPolicy: 'Odd' },
    'spec.externalTrafficPolicy: Unsupported value: "Odd": supported values: "Cluster", "Local"',
  ),
  balanced(
    { healthCheckNodePort: 30001 },
    `spec.healthCheckNodePort: Invalid value: 30001: may only be set when \`type\` is 'LoadBalancer' and \`externalTrafficPolicy\` is 'Local'`,
  ),
  balanced(
    { externalTrafficPolicy: 'Local', healthCheckNodePort: -1 },
    'spec.healthCheckNodePort: Invalid value: -1: must be between 1 and 65535, inclusive',
  ),
  spec(
    { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } },
    'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400',
  ),
  spec({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 86400 } } }),
  [
    'metadata.annotations',
    { [ranges]: '10.0.0.0/8' },
    "metadata.annotations[service.beta.orch.io/load-balancer-source-ranges]: Forbidden: may only be used when `type` is 'LoadBalancer'",
  ],
  [
    'metadata.annotations',
    { [ranges]: 'x' },
    "metadata.annotations[service.beta.orch.io/load-balancer-source-ranges]: Forbidden: may only be used when `type` is 'LoadBalancer'",
    'metadata.annotations[service.beta.orch.io/load-balancer-source-ranges]: Invalid value: "x": must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 ',
  ],
];

t.test('addresses and families', (t) => {
  checkRules(t, serviceStrategy, base, addresses);
  t.end();
});

t.test('ports', (t) => {
  checkRules(t, serviceStrategy, base, ports);
  const mixed = withField(base, 'spec', {
    type: 'LoadBalancer',
    ports: [
      { name: 'a', port: 1 },
      { name: 'b', port: 1, protocol: 'UDP' },
    ],
  });
  const off = withGates({ MixedProtocolLBService: false });
  t.match(createFailures(serviceStrategy, mixed, off), [/^spec.ports: .*with mix protocols$/]);
  t.strictSame(updateFailures(serviceStrategy, mixed, mixed, off), [], 'what is stored already is let through');
  const agent = withField(base, 'spec', { type: 'LoadBalancer', ports: [{ port: 10250 }] });
  t.strictSame(createFailures(serviceStrategy, agent, { ...testContext, dialect: kubernetesDialect }), [
    'spec.ports[0]: Invalid value: 10250: may not expose port 10250 externally since it is used by kubelet',
  ]);
  t.end();
});

t.test('load balancers and affinity', (t) => {
  checkRules(t, serviceStrategy, base, balancing);
  const annotated = withField(withField(base, 'spec.type', 'LoadBalancer'), 'metadata.annotations', {
    [ranges]: '10.0.0.0/8, 10.1.0.0/16',
  });
  t.strictSame(createFailures(serviceStrategy, annotated), []);
  const off = withGates({ ServiceInternalTrafficPolicy: false });
  t.strictSame(createFailures(serviceStrategy, base, off), [], 'a missing policy is accepted while its gate is off');
  t.end();
});

t.test('from single-stack to dual-stack and back', (t) => {
  const single = {
    clusterIP: '10.0.0.1',
    clusterIPs: ['10.0.0.1'],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
  };
  const dual = {
    clusterIP: '10.0.0.1',
    clusterIPs: ['10.0.0.1', 'fd00::1'],
    ipFamilies: ['IPv4', 'IPv6'],
    ipFamilyPolicy: 'RequireDualStack',
  };
  const headless = { clusterIP: 'None', clusterIPs: ['None'], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' };
  const of = (fields: object): Draft => withField(base, 'spec', { ports: [{ port: 80 }], ...fields });
  const fixed = 'may not change once set';
  const rows: [what: string, before: object, after: object, ...string[]][] = [
    ['a second family', single, dual],
    ['no second family any more', dual, single],
    [
      'two families, but one policy',
      dual,
      { ...single, ipFamilyPolicy: 'PreferDualStack' },
      'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to \'SingleStack\' when releasing the secondary clusterIP',
      'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to \'SingleStack\' when releasing the secondary ipFamily',
    ],
    [
      'another address',
      single,
      { ...single, clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2'] },
      `spec.clusterIPs[0]: Invalid value: []string{"10.0.0.2"}: ${fixed}`,
    ],
    [
      'another second address',
      dual,
      { ...dual, clusterIPs: ['10.0.0.1', 'fd00::2'] },
      `spec.clusterIPs[1]: Invalid value: []string{"10.0.0.1", "fd00::2"}: ${fixed}`,
    ],
    [
      'another first address along with a second',
      single,
      { ...dual, clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2', 'fd00::1'] },
      `spec.clusterIPs[0]: Invalid value: []string{"10.0.0.2", "fd00::1"}: ${fixed}`,
    ],
    [
      'the other family',
      single,
      { ...single, clusterIP: 'fd00::1', clusterIPs: ['fd00::1'], ipFamilies: ['IPv6'] },
      `spec.clusterIPs[0]: Invalid value: []string{"fd00::1"}: ${fixed}`,
      `spec.ipFamilies[0]: Invalid value: []core.IPFamily{"IPv6"}: ${fixed}`,
    ],
    ['no address any more', single, headless, `spec.clusterIPs[0]: Invalid value: []string{"None"}: ${fixed}`],
    ['an address after all', headless, single, `spec.clusterIPs[0]: Invalid value: []string{"10.0.0.1"}: ${fixed}`],
    ['another family without address', headless, { ...headless, ipFamilies: ['IPv6'] }],
    ['a name of another domain', single, { type: 'ExternalName', externalName: 'a.b' }],
  ];
  for (const [what, before, after, ...want] of rows) {
    t.strictSame(updateFailures(serviceStrategy, of(before), of(after)), want, what);
  }
  const external = of({ type: 'ExternalName', externalName: 'a.b' });
  t.strictSame(updateFailures(serviceStrategy, external, of(single)), []);
  t.end();
});

t.test('changes of type', (t) => {
  const nodePort = withField(base, 'spec', { type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] });
  const stored = created(serviceStrategy, nodePort);
  const plain = updated(serviceStrategy, withField(nodePort, 'spec.type', 'ClusterIP'), stored) as Service;
  t.equal(plain.spec.ports?.[0]?.nodePort, undefined, 'the node port goes with the type');
  t.equal(plain.spec.externalTrafficPolicy, undefined);
  const insisting = withField(withField(nodePort, 'spec.type', 'ClusterIP'), 'spec.ports', [
    { port: 80, nodePort: 30081 },
  ]);
  t.strictSame(changeFailures(serviceStrategy, stored, insisting), [
    "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
  ]);
  const local = withField(base, 'spec', {
    type: 'LoadBalancer',
    ports: [{ port: 80 }],
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 30001,
    loadBalancerClass: 'a.b/c',
  });
  const balancer = created(serviceStrategy, local);
  const change = (path: string, value: unknown) =>
    changeFailures(serviceStrategy, balancer, withField(local, path, value));
  t.strictSame(change('spec.healthCheckNodePort', 30002), ['spec.healthCheckNodePort: Forbidden: field is immutable']);
  t.strictSame(change('spec.healthCheckNodePort', undefined), [], 'kept when the client does not send it');
  t.strictSame(change('spec.loadBalancerClass', 'a.b/d'), [
    'spec.loadBalancerClass: Invalid value: "a.b/d": may not change once set',
  ]);
  t.strictSame(change('spec.loadBalancerClass', undefined), [
    'spec.loadBalancerClass: Invalid value: "null": may not change once set',
  ]);
  t.strictSame(change('spec.type', 'ClusterIP'), [], 'what belongs to the type goes with it');
  t.strictSame(change('spec.externalTrafficPolicy', 'Cluster'), []);
  t.end();
});

t.test('status', (t) => {
  const rows: RuleRow[] = [
    ['loadBalancer', { ingress: [{ ip: '10.0.0.1' }, { hostname: 'a.b' }] }],
    [
      'loadBalancer',
      { ingress: [{ hostname: '10.0.0.1' }] },
      'status.loadBalancer.ingress[0].hostname: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
    ],
    [
      'loadBalancer',
      { ingress: [{ hostname: '-' }] },
      `status.loadBalancer.ingress[0].hostname: Invalid value: "-": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
  ];
  checkStatusRules(t, serviceStrategy, { base }, rows);
  t.end();
});
