import t from 'tap';
import { flowSchemaStrategy } from '#api/flowcontrol/v1beta2/flowschema/strategy.js';
import { priorityLevelConfigurationStrategy } from '#api/flowcontrol/v1beta2/prioritylevelconfiguration/strategy.js';
import { checkRules, checkStatusRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

t.test('flow schemas are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'mine' },
    spec: {
      priorityLevelConfiguration: { name: 'low' },
      distinguisherMethod: { type: 'ByUser' },
      rules: [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
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
    ['spec.matchingPrecedence', -1, 'spec.matchingPrecedence: Invalid value: -1: must be a positive value'],
    [
      'spec.matchingPrecedence',
      1,
      "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
    ],
    ['spec.matchingPrecedence', 10001, 'spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000'],
    ['spec.matchingPrecedence', 10000],
    [
      'spec.distinguisherMethod',
      { type: 'ByMoon' },
      'spec.distinguisherMethod.type: Unsupported value: flowcontrol.FlowDistinguisherMethod{Type:"ByMoon"}: supported values: "ByNamespace", "ByUser"',
    ],
    ['spec.distinguisherMethod', undefined],
    [
      'spec.priorityLevelConfiguration',
      {},
      'spec.priorityLevelConfiguration.name: Required value: must reference a priority level',
    ],
    [
      'spec.priorityLevelConfiguration',
      { name: 'A' },
      `spec.priorityLevelConfiguration.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['spec.rules', []],
    [
      'spec.rules',
      [
        {
          subjects: [],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      'spec.rules[0].subjects: Required value: subjects must contain at least one value',
    ],
    [
      'spec.rules',
      [{ subjects: [{ kind: 'User', user: { name: 'u' } }], resourceRules: [] }],
      'spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'Other' }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      'spec.rules[0].subjects[0].kind: Unsupported value: "Other": supported values: "Group", "ServiceAccount", "User"',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User' }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: {} }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      'spec.rules[0].subjects[0].user.name: Required value',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [
            { kind: 'User', user: { name: 'u' }, group: { name: 'g' }, serviceAccount: { name: 'a', namespace: 'b' } },
          ],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
      "spec.rules[0].subjects[0].serviceAccount: Forbidden: serviceAccount is forbidden when subject kind is not 'ServiceAccount'",
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'Group' }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      "spec.rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group'",
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'Group', group: {} }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      'spec.rules[0].subjects[0].group.name: Required value',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'Group', group: { name: 'g' }, user: { name: 'u' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      "spec.rules[0].subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'",
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'ServiceAccount' }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      "spec.rules[0].subjects[0].serviceAccount: Required value: serviceAccount is required when subject kind is 'ServiceAccount'",
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'ServiceAccount', serviceAccount: {} }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      'spec.rules[0].subjects[0].serviceAccount.name: Required value',
      'spec.rules[0].subjects[0].serviceAccount.namespace: Required value: must specify namespace for service account',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'ServiceAccount', serviceAccount: { name: '*', namespace: 'ns' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'ServiceAccount', serviceAccount: { name: 'A', namespace: 'B' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      `spec.rules[0].subjects[0].serviceAccount.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
      `spec.rules[0].subjects[0].serviceAccount.namespace: Invalid value: "B": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'ServiceAccount', serviceAccount: { name: 'a', namespace: 'b' }, group: { name: 'g' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [{ verbs: [], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      'spec.rules[0].resourceRules[0].verbs: Required value: verbs must contain at least one value',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [{ verbs: ['*', 'get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      `spec.rules[0].resourceRules[0].verbs: Invalid value: []string{"*", "get"}: if '*' is present, must not specify other verbs`,
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [{ verbs: ['fly'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      'spec.rules[0].resourceRules[0].verbs: Unsupported value: []string{"fly"}: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [{ verbs: ['*'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: [], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      'spec.rules[0].resourceRules[0].apiGroups: Required value: resource rules must supply at least one api group',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: ['*', 'a'], resources: ['pods'], namespaces: ['default'] }],
        },
      ],
      `spec.rules[0].resourceRules[0].apiGroups: Invalid value: []string{"*", "a"}: if '*' is present, must not specify other api groups`,
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: [], namespaces: ['default'] }],
        },
      ],
      'spec.rules[0].resourceRules[0].resources: Required value: resource rules must supply at least one resource',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['*', 'a'], namespaces: ['default'] }],
        },
      ],
      `spec.rules[0].resourceRules[0].resources: Invalid value: []string{"*", "a"}: if '*' is present, must not specify other resources`,
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: [] }],
        },
      ],
      'spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: [], clusterScope: true }],
        },
      ],
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['*', 'a'] }],
        },
      ],
      `spec.rules[0].resourceRules[0].namespaces: Invalid value: []string{"*", "a"}: if '*' is present, must not specify other namespaces`,
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['A'] }],
        },
      ],
      `spec.rules[0].resourceRules[0].namespaces[0]: Invalid value: "A": each member of this list must be '*' or a DNS-1123 label; a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/a'] }],
        },
      ],
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: [], nonResourceURLs: ['/a'] }],
        },
      ],
      'spec.rules[0].nonResourceRules[0].verbs: Required value: verbs must contain at least one value',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['*', 'get'], nonResourceURLs: ['/a'] }],
        },
      ],
      `spec.rules[0].nonResourceRules[0].verbs: Invalid value: []string{"*", "get"}: if '*' is present, must not specify other verbs`,
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['fly'], nonResourceURLs: ['/a'] }],
        },
      ],
      'spec.rules[0].nonResourceRules[0].verbs: Unsupported value: []string{"fly"}: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: [] }],
        },
      ],
      'spec.rules[0].nonResourceRules[0].nonResourceURLs: Required value: nonResourceURLs must contain at least one value',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['*', '/a'] }],
        },
      ],
      `spec.rules[0].nonResourceRules[0].nonResourceURLs: Invalid value: []string{"*", "/a"}: if '*' is present, must not specify other non-resource URLs`,
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['*'] }],
        },
      ],
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: [''] }],
        },
      ],
      'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "": must not be empty',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/'] }],
        },
      ],
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['a'] }],
        },
      ],
      'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "a": must start with slash',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/a b'] }],
        },
      ],
      'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a b": must not contain white-space',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/a//b'] }],
        },
      ],
      'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a//b": must not contain double slash',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/a*'] }],
        },
      ],
      'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a*": wildcard can only do suffix matching',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/a/*'] }],
        },
      ],
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/*/b'] }],
        },
      ],
      'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/*/b": wildcard can only do suffix matching',
    ],
    [
      'spec.rules',
      [
        {
          subjects: [{ kind: 'User', user: { name: 'u' } }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/a/**'] }],
        },
      ],
      'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a/**": wildcard can only do suffix matching',
    ],
  ];
  checkRules(t, flowSchemaStrategy, base, create);
  const update: RuleRow[] = [
    ['spec.matchingPrecedence', 10001, 'spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000'],
  ];
  checkUpdateRules(t, flowSchemaStrategy, base, update);
  const status: RuleRow[] = [
    ['conditions', [{ type: '' }], 'status.conditions[0].type: Required value: must not be empty'],
    ['conditions', [{ type: 'A' }, { type: 'A' }], 'status.conditions[1].type: Duplicate value: "A"'],
    ['conditions', [{ type: 'A' }, { type: 'B' }]],
  ];
  checkStatusRules(t, flowSchemaStrategy, { base }, status);
  t.end();
});

t.test('priority levels are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'low' },
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } },
  };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'A',
      `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'metadata.name',
      'exempt',
      `spec.type: Invalid value: "Limited": type must be 'Exempt' if and only if name is 'exempt'`,
      `spec: Invalid value: {"type":"Limited","limited":{"limitResponse":{"type":"Queue","queuing":{"queues":64,"handSize":8,"queueLengthLimit":50}},"assuredConcurrencyShares":30}}: spec of 'exempt' must equal the fixed value`,
    ],
    [
      'metadata.name',
      'catch-all',
      `spec: Invalid value: {"type":"Limited","limited":{"limitResponse":{"type":"Queue","queuing":{"queues":64,"handSize":8,"queueLengthLimit":50}},"assuredConcurrencyShares":30}}: spec of 'catch-all' must equal the fixed value`,
    ],
    [
      'spec',
      { type: 'Exempt' },
      `spec.type: Invalid value: "Exempt": type must be 'Exempt' if and only if name is 'exempt'`,
    ],
    ['spec.type', 'Other', 'spec.type: Unsupported value: "Other": supported values: "Exempt", "Limited"'],
    ['spec.type', undefined, 'spec.type: Unsupported value: "": supported values: "Exempt", "Limited"'],
    ['spec', { type: 'Limited' }, 'spec.limited: Required value: must not be empty when type is Limited'],
    [
      'spec.limited',
      { assuredConcurrencyShares: -1, limitResponse: { type: 'Reject' } },
      'spec.limited.assuredConcurrencyShares: Invalid value: -1: must be positive',
    ],
    ['spec.limited', { limitResponse: { type: 'Reject' } }],
    [
      'spec.limited',
      { limitResponse: { type: 'Reject', queuing: {} } },
      'spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited',
    ],
    [
      'spec.limited',
      { limitResponse: { type: 'Queue' } },
      'spec.limited.limitResponse.queuing: Required value: must not be empty if limited.limitResponse.type is Limited',
    ],
    [
      'spec.limited',
      { limitResponse: { type: 'Other' } },
      'spec.limited.limitResponse.type: Unsupported value: "Other": supported values: "Queue", "Reject"',
    ],
    ['spec.limited', {}, 'spec.limited.limitResponse.type: Unsupported value: "": supported values: "Queue", "Reject"'],
    [
      'spec.limited',
      { limitResponse: { type: 'Queue', queuing: { queueLengthLimit: -1 } } },
      'spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive',
    ],
    [
      'spec.limited',
      { limitResponse: { type: 'Queue', queuing: { queues: -1 } } },
      'spec.limited.limitResponse.queuing.queues: Invalid value: -1: must be positive',
      'spec.limited.limitResponse.queuing.handSize: Invalid value: 8: should not be greater than queues (-1)',
    ],
    [
      'spec.limited',
      { limitResponse: { type: 'Queue', queuing: { queues: 10000001 } } },
      'spec.limited.limitResponse.queuing.queues: Invalid value: 10000001: must not be greater than 10000000',
      'spec.limited.limitResponse.queuing.handSize: Invalid value: 8: required entropy bits of deckSize 10000001 and handSize 8 should not be greater than 60',
    ],
    [
      'spec.limited',
      { limitResponse: { type: 'Queue', queuing: { handSize: -1 } } },
      'spec.limited.limitResponse.queuing.handSize: Invalid value: -1: must be positive',
    ],
    [
      'spec.limited',
      { limitResponse: { type: 'Queue', queuing: { handSize: 65 } } },
      'spec.limited.limitResponse.queuing.handSize: Invalid value: 65: should not be greater than queues (64)',
    ],
    ['spec.limited', { limitResponse: { type: 'Queue', queuing: { handSize: 10, queues: 64 } } }],
    [
      'spec.limited',
      { limitResponse: { type: 'Queue', queuing: { handSize: 20, queues: 64 } } },
      'spec.limited.limitResponse.queuing.handSize: Invalid value: 20: required entropy bits of deckSize 64 and handSize 20 should not be greater than 60',
    ],
  ];
  checkRules(t, priorityLevelConfigurationStrategy, base, create);
  const update: RuleRow[] = [
    [
      'spec.type',
      'Exempt',
      `spec.type: Invalid value: "Exempt": type must be 'Exempt' if and only if name is 'exempt'`,
      'spec.limited: Forbidden: must be nil if the type is not Limited',
    ],
  ];
  checkUpdateRules(t, priorityLevelConfigurationStrategy, base, update);
  const status: RuleRow[] = [
    ['conditions', [{ type: '' }], 'status.conditions[0].type: Required value: must not be empty'],
    ['conditions', [{ type: 'A' }, { type: 'A' }], 'status.conditions[1].type: Duplicate value: "A"'],
  ];
  checkStatusRules(t, priorityLevelConfigurationStrategy, { base }, status);
  t.end();
});
