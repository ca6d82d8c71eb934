import t from 'tap';
import { apiServiceStrategy } from '#api/apiregistration/v1/apiservice/strategy.js';
import { checkRules, checkStatusRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

t.test('local API services are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'v1.a.b' },
    spec: { group: 'a.b', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1 },
  };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'v2.a.b',
      'metadata.name: Invalid value: "v2.a.b": must be `spec.version+"."+spec.group`: "v1.a.b"',
    ],
    ['metadata.name', 'a/b', `metadata.name: Invalid value: "a/b": may not contain '/'`],
    [
      'spec.group',
      'A',
      'metadata.name: Invalid value: "v1.a.b": must be `spec.version+"."+spec.group`: "v1.A"',
      `spec.group: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'spec.version',
      '1',
      'metadata.name: Invalid value: "v1.a.b": must be `spec.version+"."+spec.group`: "1.a.b"',
      `spec.version: Invalid value: "1": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'spec.groupPriorityMinimum',
      0,
      'spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000',
    ],
    [
      'spec.groupPriorityMinimum',
      20001,
      'spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000',
    ],
    ['spec.groupPriorityMinimum', 20000],
    ['spec.versionPriority', 0, 'spec.versionPriority: Invalid value: 0: must be positive and less than 1000'],
    ['spec.versionPriority', 1001, 'spec.versionPriority: Invalid value: 1001: must be positive and less than 1000'],
    ['spec.versionPriority', 1000],
    ['spec.caBundle', 'YQ==', 'spec.caBundle: Invalid value: "1 bytes": local APIServices may not have a caBundle'],
    [
      'spec.insecureSkipTLSVerify',
      true,
      'spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify',
    ],
    ['spec.group', undefined, 'metadata.name: Invalid value: "v1.a.b": must be `spec.version+"."+spec.group`: "v1."'],
  ];
  checkRules(t, apiServiceStrategy, base, create);
  const update: RuleRow[] = [
    ['spec.versionPriority', 0, 'spec.versionPriority: Invalid value: 0: must be positive and less than 1000'],
  ];
  checkUpdateRules(t, apiServiceStrategy, base, update);
  const status: RuleRow[] = [
    [
      'conditions',
      [{ type: 'Available', status: 'Maybe' }],
      'status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"',
    ],
    ['conditions', [{ type: 'Available', status: 'Unknown' }]],
  ];
  checkStatusRules(t, apiServiceStrategy, { base }, status);
  t.end();
});

t.test('remote API services are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'v1.a.b' },
    spec: {
      group: 'a.b',
      version: 'v1',
      groupPriorityMinimum: 1,
      versionPriority: 1,
      service: { name: 's', namespace: 'ns' },
    },
  };
  const create: RuleRow[] = [
    ['spec.service.name', undefined, 'spec.service.name: Required value'],
    ['spec.service.namespace', '', 'spec.service.namespace: Required value'],
    [
      'spec.service.port',
      0,
      'spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive',
    ],
    [
      'spec.service.port',
      65536,
      'spec.service.port: Invalid value: 65536: port is not valid: must be between 1 and 65535, inclusive',
    ],
    ['spec.caBundle', 'YQ=='],
    ['spec.insecureSkipTLSVerify', true],
    [
      'spec',
      {
        group: 'a.b',
        version: 'v1',
        groupPriorityMinimum: 1,
        versionPriority: 1,
        service: { name: 's', namespace: 'ns' },
        caBundle: 'YQ==',
        insecureSkipTLSVerify: true,
      },
      'spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present',
    ],
  ];
  checkRules(t, apiServiceStrategy, base, create);
  t.end();
});

t.test('the API service of the core version is validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'v1.' },
    spec: { version: 'v1', groupPriorityMinimum: 1, versionPriority: 1 },
  };
  const create: RuleRow[] = [
    [
      'spec.version',
      'v2',
      'metadata.name: Invalid value: "v1.": must be `spec.version+"."+spec.group`: "v2."',
      'spec.group: Required value: only v1 may have an empty group and it better be legacy kube',
    ],
  ];
  checkRules(t, apiServiceStrategy, base, create);
  t.end();
});
