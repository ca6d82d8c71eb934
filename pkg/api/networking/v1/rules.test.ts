import t from 'tap';
import { ingressStrategy } from '#api/networking/v1/ingress/strategy.js';
import { ingressClassStrategy } from '#api/networking/v1/ingressclass/strategy.js';
import { networkPolicyStrategy } from '#api/networking/v1/networkpolicy/strategy.js';
import { checkRules, checkStatusRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

t.test('ingresses are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'n', namespace: 'ns' },
    spec: {
      rules: [
        {
          host: 'a.b',
          http: {
            paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
          },
        },
      ],
    },
  };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'A',
      `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'spec',
      {},
      'spec: Invalid value: []networking.IngressRule(nil): either `defaultBackend` or `rules` must be specified',
    ],
    ['spec', { defaultBackend: { service: { name: 's', port: { number: 80 } } } }],
    [
      'spec.rules.0.host',
      'A',
      `spec.rules[0].host: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'spec.rules.0.host',
      '1.2.3.4',
      'spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
    ],
    ['spec.rules.0.host', '*.a.b'],
    [
      'spec.rules.0.host',
      'a.*.b',
      `spec.rules[0].host: Invalid value: "a.*.b": a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['spec.rules.0.host', undefined],
    ['spec.rules.0.http.paths', [], 'spec.rules[0].http.paths: Required value'],
    [
      'spec.rules.0.http.paths',
      [{ path: '/', backend: { service: { name: 's', port: { number: 80 } } } }],
      'spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified',
    ],
    [
      'spec.rules.0.http.paths',
      [{ path: '/', pathType: 'Other', backend: { service: { name: 's', port: { number: 80 } } } }],
      'spec.rules[0].http.paths[0].pathType: Unsupported value: "Other": supported values: "Exact", "ImplementationSpecific", "Prefix"',
    ],
    [
      'spec.rules.0.http.paths',
      [{ pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
      'spec.rules[0].http.paths[0].path: Invalid value: "": must be an absolute path',
    ],
    [
      'spec.rules.0.http.paths',
      [{ path: 'a', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
      'spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path',
    ],
    [
      'spec.rules.0.http.paths',
      [{ path: 'a', pathType: 'Exact', backend: { service: { name: 's', port: { number: 80 } } } }],
      'spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path',
    ],
    [
      'spec.rules.0.http.paths',
      [{ path: 'a', pathType: 'ImplementationSpecific', backend: { service: { name: 's', port: { number: 80 } } } }],
      'spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path',
    ],
    [
      'spec.rules.0.http.paths',
      [{ pathType: 'ImplementationSpecific', backend: { service: { name: 's', port: { number: 80 } } } }],
    ],
    [
      'spec.rules.0.http.paths',
      [{ path: '/a//b', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
      `spec.rules[0].http.paths[0].path: Invalid value: "/a//b": must not contain '//'`,
    ],
    [
      'spec.rules.0.http.paths',
      [{ path: '/a/./b', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
      `spec.rules[0].http.paths[0].path: Invalid value: "/a/./b": must not contain '/./'`,
    ],
    [
      'spec.rules.0.http.paths',
      [{ path: '/a/../b', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
      `spec.rules[0].http.paths[0].path: Invalid value: "/a/../b": must not contain '/../'`,
    ],
    [
      'spec.rules.0.http.paths',
      [{ path: '/a%2fb', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
      `spec.rules[0].http.paths[0].path: Invalid value: "/a%2fb": must not contain '%2f'`,
    ],
    [
      'spec.rules.0.http.paths',
      [{ path: '/a%2Fb', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
      `spec.rules[0].http.paths[0].path: Invalid value: "/a%2Fb": must not contain '%2F'`,
    ],
    [
      'spec.rules.0.http.paths',
      [{ path: '/a/..', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
      `spec.rules[0].http.paths[0].path: Invalid value: "/a/..": cannot end with '/..'`,
    ],
    [
      'spec.rules.0.http.paths',
      [{ path: '/a/.', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
      `spec.rules[0].http.paths[0].path: Invalid value: "/a/.": cannot end with '/.'`,
    ],
    [
      'spec.rules.0.http.paths',
      [{ path: '/', pathType: 'Prefix', backend: {} }],
      'spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required',
    ],
    ['spec.defaultBackend', {}, 'spec.defaultBackend: Invalid value: "": resource or service backend is required'],
    ['spec.defaultBackend', { service: { port: { number: 80 } } }, 'spec.defaultBackend.service.name: Required value'],
    [
      'spec.defaultBackend',
      { service: { name: '1s', port: { number: 80 } } },
      `spec.defaultBackend.service.name: Invalid value: "1s": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'spec.defaultBackend',
      { service: { name: 's' } },
      'spec.defaultBackend: Required value: port name or number is required',
    ],
    [
      'spec.defaultBackend',
      { service: { name: 's', port: { name: 'http', number: 80 } } },
      'spec.defaultBackend: Invalid value: "": cannot set both port name & port number',
    ],
    ['spec.defaultBackend', { service: { name: 's', port: { name: 'http' } } }],
    [
      'spec.defaultBackend',
      { service: { name: 's', port: { name: 'a_b' } } },
      'spec.defaultBackend.service.port.name: Invalid value: "a_b": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ],
    [
      'spec.defaultBackend',
      { service: { name: 's', port: { number: 65536 } } },
      'spec.defaultBackend.service.port.number: Invalid value: 65536: must be between 1 and 65535, inclusive',
    ],
    [
      'spec.defaultBackend',
      { service: { name: 's', port: { number: 80 } }, resource: { kind: 'K', name: 'n' } },
      'spec.defaultBackend: Invalid value: "": cannot set both resource and service backends',
    ],
    ['spec.defaultBackend', { resource: { kind: 'K', name: 'n' } }],
    [
      'spec.defaultBackend',
      { resource: {} },
      'spec.defaultBackend.resource.kind: Required value: kind is required',
      'spec.defaultBackend.resource.name: Required value: name is required',
    ],
    [
      'spec.defaultBackend',
      { resource: { apiGroup: 'A', kind: 'a/b', name: 'c%' } },
      `spec.defaultBackend.resource.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
      `spec.defaultBackend.resource.kind: Invalid value: "a/b": may not contain '/'`,
      `spec.defaultBackend.resource.name: Invalid value: "c%": may not contain '%'`,
    ],
    ['spec.tls', [{ hosts: ['a.b', '*.c.d'], secretName: 's' }]],
    [
      'spec.tls',
      [{ hosts: ['A'] }],
      `spec.tls[0].hosts[0]: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'spec.tls',
      [{}, { hosts: ['a', '*.'] }],
      `spec.tls[1].hosts[1]: Invalid value: "*.": a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'spec.tls',
      [{ secretName: 'A' }],
      `spec.tls[0].secretName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'spec.ingressClassName',
      'A',
      `spec.ingressClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['spec.ingressClassName', 'a'],
    ['metadata.annotations', { 'orch.io/ingress.class': 'x' }],
  ];
  checkRules(t, ingressStrategy, base, create);
  const update: RuleRow[] = [
    [
      'spec.rules.0.host',
      'A',
      `spec.rules[0].host: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['spec.ingressClassName', 'b'],
  ];
  checkUpdateRules(t, ingressStrategy, base, update);
  const status: RuleRow[] = [
    [
      'loadBalancer',
      { ingress: [{ ip: 'x' }] },
      'status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address',
    ],
    [
      'loadBalancer',
      { ingress: [{ hostname: 'A' }] },
      `status.loadBalancer.ingress[0].hostname: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['loadBalancer', { ingress: [{ ip: '1.2.3.4', hostname: 'a.b' }] }],
    [
      'loadBalancer',
      { ingress: [{ hostname: '1.2.3.4' }] },
      'status.loadBalancer.ingress[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
    ],
  ];
  checkStatusRules(t, ingressStrategy, { base }, status);
  t.end();
});

t.test('ingress classes are validated as in 1.24', (t) => {
  const base: Draft = { metadata: { name: 'c' }, spec: { controller: 'a.b/c' } };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'A',
      `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['spec.controller', undefined, 'spec.controller: Required value'],
    [
      'spec.controller',
      'a',
      'spec.controller: Invalid value: "a": must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    [
      'spec.controller',
      '/a',
      'spec.controller: Invalid value: "/a": must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    [
      'spec.controller',
      'a/',
      'spec.controller: Invalid value: "a/": must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    [
      'spec.controller',
      'A/b',
      `spec.controller: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'spec.controller',
      'a.b/c d',
      `spec.controller: Invalid value: "c d": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')`,
    ],
    ['spec.controller', `a.b/${'x'.repeat(250)}`, 'spec.controller: Too long: must have at most 250 bytes'],
    ['spec.parameters', { kind: 'K', name: 'n' }],
    [
      'spec.parameters',
      {},
      'spec.parameters.kind: Required value: kind is required',
      'spec.parameters.name: Required value: name is required',
    ],
    [
      'spec.parameters',
      { apiGroup: 'A', kind: 'K', name: 'n' },
      `spec.parameters.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'spec.parameters',
      { kind: 'K', name: 'n', scope: 'Other' },
      'spec.parameters.scope: Unsupported value: "Other": supported values: "Cluster", "Namespace"',
    ],
    [
      'spec.parameters',
      { kind: 'K', name: 'n', scope: 'Namespace' },
      "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
    ],
    ['spec.parameters', { kind: 'K', name: 'n', scope: 'Namespace', namespace: 'ns' }],
    [
      'spec.parameters',
      { kind: 'K', name: 'n', scope: 'Namespace', namespace: 'A' },
      `spec.parameters.namespace: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'spec.parameters',
      { kind: 'K', name: 'n', scope: 'Cluster', namespace: 'ns' },
      "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
    ],
  ];
  checkRules(t, ingressClassStrategy, base, create);
  const update: RuleRow[] = [
    ['spec.controller', 'a.b/d', 'spec.controller: Invalid value: "a.b/d": field is immutable'],
    ['spec.parameters', { kind: 'K', name: 'n', scope: 'Cluster' }],
  ];
  checkUpdateRules(t, ingressClassStrategy, base, update);
  t.end();
});

t.test('network policies are validated as in 1.24', (t) => {
  const base: Draft = { metadata: { name: 'n', namespace: 'ns' }, spec: { podSelector: {} } };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'A',
      `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'spec.podSelector',
      { matchLabels: { a: 'b c' } },
      `spec.podSelector.matchLabels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
    ],
    [
      'spec.ingress',
      [{ ports: [{ protocol: 'ICMP' }] }],
      'spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"',
    ],
    ['spec.ingress', [{ ports: [{ protocol: 'SCTP', port: 1 }] }]],
    [
      'spec.ingress',
      [{ ports: [{ port: 0 }] }],
      'spec.ingress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
    ],
    [
      'spec.ingress',
      [{ ports: [{ port: 65536 }] }],
      'spec.ingress[0].ports[0].port: Invalid value: 65536: must be between 1 and 65535, inclusive',
    ],
    ['spec.ingress', [{ ports: [{ port: 'http' }] }]],
    [
      'spec.ingress',
      [{ ports: [{ port: 'a_b' }] }],
      'spec.ingress[0].ports[0].port: Invalid value: "a_b": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ],
    ['spec.ingress', [{ ports: [{ port: 80, endPort: 90 }] }]],
    ['spec.ingress', [{ ports: [{ port: 80, endPort: 80 }] }]],
    [
      'spec.ingress',
      [{ ports: [{ port: 80, endPort: 79 }] }],
      'spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`',
    ],
    [
      'spec.ingress',
      [{ ports: [{ port: 80, endPort: 65536 }] }],
      'spec.ingress[0].ports[0].endPort: Invalid value: 65536: must be between 1 and 65535, inclusive',
    ],
    [
      'spec.ingress',
      [{ ports: [{ endPort: 80 }] }],
      'spec.ingress[0].ports[0].endPort: Invalid value: 80: may not be specified when `port` is not specified',
    ],
    [
      'spec.ingress',
      [{ ports: [{ port: 'http', endPort: 80 }] }],
      'spec.ingress[0].ports[0].endPort: Invalid value: 80: may not be specified when `port` is non-numeric',
    ],
    ['spec.egress', [{ to: [{}] }], 'spec.egress[0].to[0]: Required value: must specify a peer'],
    ['spec.egress', [{ to: [{ podSelector: {}, namespaceSelector: {} }] }]],
    [
      'spec.egress',
      [{ to: [{ podSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } }] }],
      'spec.egress[0].to[0].podSelector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
    ],
    [
      'spec.egress',
      [{ to: [{ namespaceSelector: { matchLabels: { 'a b': 'c' } } }] }],
      `spec.egress[0].to[0].namespaceSelector.matchLabels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    ['spec.egress', [{ to: [{ ipBlock: {} }] }], 'spec.egress[0].to[0].ipBlock.cidr: Required value'],
    [
      'spec.egress',
      [{ to: [{ ipBlock: { cidr: '10.0.0.0' } }] }],
      'spec.egress[0].to[0].ipBlock.cidr: Invalid value: "10.0.0.0": not a valid CIDR',
    ],
    [
      'spec.egress',
      [{ to: [{ ipBlock: { cidr: '10.0.0.0/33' } }] }],
      'spec.egress[0].to[0].ipBlock.cidr: Invalid value: "10.0.0.0/33": not a valid CIDR',
    ],
    ['spec.egress', [{ to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }] }]],
    [
      'spec.egress',
      [{ to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/8'] } }] }],
      'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
    ],
    [
      'spec.egress',
      [{ to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/16'] } }] }],
      'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
    ],
    [
      'spec.egress',
      [{ to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['x'] } }] }],
      'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "x": not a valid CIDR',
    ],
    ['spec.egress', [{ to: [{ ipBlock: { cidr: '2001:db8::/32', except: ['2001:db8:1::/48'] } }] }]],
    [
      'spec.egress',
      [{ to: [{ ipBlock: { cidr: '2001:db8::/32', except: ['10.0.0.0/8'] } }] }],
      'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
    ],
    [
      'spec.egress',
      [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' }, podSelector: {} }] }],
      'spec.egress[0].to[0]: Forbidden: may not specify both ipBlock and another peer',
    ],
    [
      'spec.policyTypes',
      ['Other'],
      'spec.policyTypes[0]: Unsupported value: "Other": supported values: "Ingress", "Egress"',
    ],
    ['spec.policyTypes', ['Ingress', 'Egress']],
    [
      'spec.policyTypes',
      ['Ingress', 'Egress', 'Ingress'],
      'spec.policyTypes: Invalid value: []networking.PolicyType{"Ingress", "Egress", "Ingress"}: may not specify more than two policyTypes',
    ],
  ];
  checkRules(t, networkPolicyStrategy, base, create);
  const update: RuleRow[] = [
    [
      'spec.policyTypes',
      ['Other'],
      'spec.policyTypes[0]: Unsupported value: "Other": supported values: "Ingress", "Egress"',
    ],
  ];
  checkUpdateRules(t, networkPolicyStrategy, base, update);
  t.end();
});
