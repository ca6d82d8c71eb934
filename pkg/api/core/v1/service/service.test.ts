import t from 'tap';
import { serviceStrategy } from '#api/core/v1/service/strategy.js';
import {
  created,
  createFailures,
  type Draft,
  statusFailures,
  testContext,
  updated,
  updateFailures,
  withField,
} from '#api/testing/strategy-table.js';

const base: Draft = { metadata: { name: 's', namespace: 'ns' }, spec: { ports: [{ port: 80 }] } };
const p = 'spec.ports[0]';
const portRange = 'must be between 1 and 65535, inclusive';
const with2 = (path: string, value: unknown, path2: string, value2: unknown): Draft =>
  withField(withField(base, path, value), path2, value2);

t.test('defaults', (t) => {
  const object = created(serviceStrategy, base);
  t.match(object, {
    spec: {
      type: 'ClusterIP',
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ports: [{ port: 80, targetPort: 80, protocol: 'TCP' }],
    },
  });
  t.match(created(serviceStrategy, withField(base, 'spec.sessionAffinity', 'ClientIP')), {
    spec: { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } } },
  });
  t.match(created(serviceStrategy, withField(base, 'spec.type', 'LoadBalancer')), {
    spec: { externalTrafficPolicy: 'Cluster', allocateLoadBalancerNodePorts: true },
  });
  t.match(created(serviceStrategy, withField(base, 'spec.clusterIP', '10.0.0.1')), {
    spec: { clusterIPs: ['10.0.0.1'] },
  });
  t.end();
});

t.test('create', (t) => {
  const rows: [string, unknown, ...string[]][] = [
    [
      'metadata.name',
      '1s',
      `metadata.name: Invalid value: "1s": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
    ['spec.ports', [], 'spec.ports: Required value'],
    [
      'spec.ports',
      [{}],
      `${p}.port: Invalid value: 0: ${portRange}`,
      `${p}.targetPort: Invalid value: 0: ${portRange}`,
    ],
    ['spec.ports', [{ port: 1 }, { port: 2 }], `${p}.name: Required value`, 'spec.ports[1].name: Required value'],
    [
      'spec.ports',
      [
        { name: 'a', port: 1 },
        { name: 'a', port: 2 },
      ],
      'spec.ports[1].name: Duplicate value: "a"',
    ],
    [
      'spec.ports',
      [
        { name: 'a', port: 1 },
        { name: 'b', port: 1 },
      ],
      'spec.ports[1]: Duplicate value: core.ServicePort{Name:"", Protocol:"TCP", AppProtocol:(*string)(nil), Port:1, TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}',
    ],
    [
      'spec.ports',
      [
        { name: 'a', port: 1 },
        { name: 'b', port: 1, protocol: 'UDP' },
      ],
    ],
    [
      'spec.ports',
      [{ port: 1, protocol: 'X' }],
      `${p}.protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"`,
    ],
    ['spec.ports', [{ port: 1, targetPort: 'web' }]],
    ['spec.ports', [{ port: 1, targetPort: 70000 }], `${p}.targetPort: Invalid value: 70000: ${portRange}`],
    [
      'spec.ports',
      [{ port: 1, nodePort: 30000 }],
      `${p}.nodePort: Forbidden: may not be used when \`type\` is 'ClusterIP'`,
    ],
    [
      'spec.type',
      'X',
      'spec.type: Unsupported value: "X": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
    ],
    ['spec.sessionAffinity', 'X', 'spec.sessionAffinity: Unsupported value: "X": supported values: "ClientIP", "None"'],
    [
      'spec.clusterIP',
      'x',
      'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    ['spec.clusterIP', 'None'],
    [
      'spec.clusterIPs',
      ['10.0.0.1'],
      'spec.clusterIPs: Invalid value: []string{"10.0.0.1"}: must be empty when `clusterIP` is not specified',
    ],
    ['spec.ipFamilies', ['IPv4', 'IPv4'], 'spec.ipFamilies[1]: Duplicate value: "IPv4"'],
    [
      'spec.ipFamilyPolicy',
      'X',
      'spec.ipFamilyPolicy: Unsupported value: "X": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
    ],
    [
      'spec.externalIPs',
      ['127.0.0.1'],
      'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
    [
      'spec.externalIPs',
      ['0.0.0.0'],
      'spec.externalIPs[0]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
    ],
    [
      'spec.loadBalancerSourceRanges',
      ['10.0.0.0/8'],
      "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
    ],
    [
      'spec.externalTrafficPolicy',
      'Local',
      `spec.externalTrafficPolicy: Invalid value: "Local": may only be set when \`type\` is 'NodePort' or 'LoadBalancer'`,
    ],
    [
      'spec.internalTrafficPolicy',
      'X',
      'spec.internalTrafficPolicy: Unsupported value: "X": supported values: "Cluster", "Local"',
    ],
    [
      'spec.healthCheckNodePort',
      1,
      `spec.healthCheckNodePort: Invalid value: 1: may only be set when \`type\` is 'LoadBalancer' and \`externalTrafficPolicy\` is 'Local'`,
    ],
    [
      'spec.selector',
      { a: '-' },
      `spec.selector: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
    ],
  ];
  t.strictSame(createFailures(serviceStrategy, base), []);
  for (const [path, value, ...want] of rows) {
    t.strictSame(
      createFailures(serviceStrategy, withField(base, path, value)),
      want,
      `${path} = ${JSON.stringify(value)}`,
    );
  }
  t.strictSame(createFailures(serviceStrategy, with2('spec.type', 'NodePort', 'spec.clusterIP', 'None')), [
    'spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for NodePort services',
  ]);
  t.strictSame(
    createFailures(serviceStrategy, withField(base, 'spec', { type: 'ExternalName', externalName: 'a.b.' })),
    [],
  );
  t.strictSame(
    createFailures(serviceStrategy, withField(base, 'spec', { type: 'ExternalName', clusterIP: '10.0.0.1' })),
    ['spec.clusterIPs: Forbidden: may not be set for ExternalName services', 'spec.externalName: Required value'],
  );
  t.strictSame(
    createFailures(
      serviceStrategy,
      with2('spec.sessionAffinity', 'ClientIP', 'spec.sessionAffinityConfig', { clientIP: { timeoutSeconds: 86401 } }),
    ),
    [
      'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400',
    ],
  );
  t.end();
});

t.test('update', (t) => {
  const old = with2('spec.clusterIP', '10.0.0.1', 'spec.clusterIPs', ['10.0.0.1']);
  t.strictSame(updateFailures(serviceStrategy, old, withField(old, 'spec.clusterIP', '10.0.0.2')), [
    'spec.clusterIPs[0]: Invalid value: []string{"10.0.0.2"}: may not change once set',
  ]);
  t.strictSame(updateFailures(serviceStrategy, old, base), [], 'the address stays if the client omits it');
  const stored = created(serviceStrategy, old);
  t.match(updated(serviceStrategy, base, stored), { spec: { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] } });
  const external = withField(old, 'spec.type', 'ExternalName');
  const renamed = updated(serviceStrategy, withField(external, 'spec.externalName', 'x'), stored);
  t.notHas(
    (renamed as unknown as { spec: object }).spec,
    { clusterIP: '10.0.0.1' },
    'the address is removed with the type',
  );
  const node = created(serviceStrategy, with2('spec.type', 'NodePort', 'spec.ports', [{ port: 80, nodePort: 30080 }]));
  t.match(updated(serviceStrategy, withField(base, 'spec.type', 'NodePort'), node), {
    spec: { ports: [{ nodePort: 30080 }] },
  });
  t.strictSame(statusFailures(serviceStrategy, base, { new: { loadBalancer: { ingress: [{ ip: 'x' }] } } }), [
    'status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address',
  ]);
  t.end();
});

t.test('cells', (t) => {
  const cells = (draft: Draft): unknown =>
    serviceStrategy.cells?.(created(serviceStrategy, draft) as never, testContext);
  const updatedService = withField(base, 'metadata.creationTimestamp', '2024-05-31T23:50:00Z');
  t.strictSame(cells(withField(updatedService, 'spec.clusterIP', '10.0.0.1')), [
    's',
    'ClusterIP',
    '10.0.0.1',
    '<none>',
    '80/TCP',
    '10m',
    '<none>',
  ]);
  const node = withField(withField(updatedService, 'spec.type', 'NodePort'), 'spec.ports', [
    { name: 'a', port: 80, nodePort: 30080 },
    { name: 'b', port: 53, protocol: 'UDP' },
  ]);
  t.strictSame(cells(withField(node, 'spec.selector', { b: '2', a: '1' })), [
    's',
    'NodePort',
    '<none>',
    '<none>',
    '80:30080/TCP,53/UDP',
    '10m',
    'a=1,b=2',
  ]);
  t.match(cells(withField(updatedService, 'spec.type', 'LoadBalancer')), { 3: '<pending>' });
  t.match(cells(withField(updatedService, 'spec', { type: 'ExternalName', externalName: 'x.y' })), {
    2: '<none>',
    3: 'x.y',
    4: '<none>',
  });
  t.end();
});
