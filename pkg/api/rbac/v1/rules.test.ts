import t from 'tap';
import { clusterRoleBindingStrategy, roleBindingStrategy } from '#api/rbac/v1/binding/strategy.js';
import { clusterRoleStrategy, roleStrategy } from '#api/rbac/v1/role/strategy.js';
import { checkRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

t.test('roles are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'system:a', namespace: 'ns' },
    rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
  };
  const create: RuleRow[] = [
    ['metadata.name', 'a/b', `metadata.name: Invalid value: "a/b": may not contain '/'`],
    ['metadata.name', 'a%b', `metadata.name: Invalid value: "a%b": may not contain '%'`],
    ['metadata.name', '..', `metadata.name: Invalid value: "..": may not be '..'`],
    ['rules', []],
    [
      'rules',
      [{ verbs: [], apiGroups: [''], resources: ['pods'] }],
      'rules[0].verbs: Required value: verbs must contain at least one value',
    ],
    [
      'rules',
      [{ verbs: ['get'], apiGroups: [], resources: ['pods'] }],
      'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
    ],
    [
      'rules',
      [{ verbs: ['get'], apiGroups: [''], resources: [] }],
      'rules[0].resources: Required value: resource rules must supply at least one resource',
    ],
    [
      'rules',
      [{ verbs: ['get'], nonResourceURLs: ['/a'] }],
      'rules[0].nonResourceURLs: Invalid value: []string{"/a"}: namespaced rules cannot apply to non-resource URLs',
    ],
    [
      'rules',
      [{}],
      'rules[0].verbs: Required value: verbs must contain at least one value',
      'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
      'rules[0].resources: Required value: resource rules must supply at least one resource',
    ],
  ];
  checkRules(t, roleStrategy, base, create);
  const update: RuleRow[] = [
    [
      'rules',
      [{ verbs: [], apiGroups: [''], resources: ['pods'] }],
      'rules[0].verbs: Required value: verbs must contain at least one value',
    ],
  ];
  checkUpdateRules(t, roleStrategy, base, update);
  t.end();
});

t.test('cluster roles are validated as in 1.24', (t) => {
  const base: Draft = { metadata: { name: 'a' }, rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] };
  const create: RuleRow[] = [
    ['metadata.namespace', 'ns', 'metadata.namespace: Forbidden: not allowed on this type'],
    ['rules', [{ verbs: ['get'], nonResourceURLs: ['/a'] }]],
    [
      'rules',
      [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], nonResourceURLs: ['/a'] }],
      'rules[0].nonResourceURLs: Invalid value: []string{"/a"}: rules cannot apply to both regular resources and non-resource URLs',
    ],
    [
      'rules',
      [{ verbs: ['get'], nonResourceURLs: ['/a'], resourceNames: ['x'] }],
      'rules[0].nonResourceURLs: Invalid value: []string{"/a"}: rules cannot apply to both regular resources and non-resource URLs',
    ],
    [
      'aggregationRule',
      {},
      'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
    ],
    ['aggregationRule', { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }],
    [
      'aggregationRule',
      { clusterRoleSelectors: [{ matchExpressions: [{ key: 'a', operator: 'Is' }] }] },
      'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
      'aggregationRule.clusterRoleSelectors[0]: Invalid value: "null": invalid label selector.',
    ],
  ];
  checkRules(t, clusterRoleStrategy, base, create);
  const update: RuleRow[] = [
    [
      'rules',
      [{}],
      'rules[0].verbs: Required value: verbs must contain at least one value',
      'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
      'rules[0].resources: Required value: resource rules must supply at least one resource',
    ],
  ];
  checkUpdateRules(t, clusterRoleStrategy, base, update);
  t.end();
});

t.test('role bindings are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'system:a', namespace: 'ns' },
    roleRef: { kind: 'Role', name: 'r' },
    subjects: [{ kind: 'User', name: 'u' }],
  };
  const create: RuleRow[] = [
    [
      'roleRef',
      { kind: 'Other', name: 'r' },
      'roleRef.kind: Unsupported value: "Other": supported values: "Role", "ClusterRole"',
    ],
    ['roleRef', { kind: 'ClusterRole', name: 'a/b' }, `roleRef.name: Invalid value: "a/b": may not contain '/'`],
    ['roleRef', { kind: 'ClusterRole' }, 'roleRef.name: Required value'],
    [
      'roleRef',
      { kind: 'ClusterRole', name: 'r', apiGroup: 'other' },
      'roleRef.apiGroup: Unsupported value: "other": supported values: "rbac.authorization.orch.io"',
    ],
    [
      'roleRef',
      undefined,
      'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
      'roleRef.name: Required value',
    ],
    ['subjects', [{ kind: 'User' }], 'subjects[0].name: Required value'],
    [
      'subjects',
      [{ kind: 'Other', name: 'u' }],
      'subjects[0].kind: Unsupported value: "Other": supported values: "ServiceAccount", "User", "Group"',
    ],
    [
      'subjects',
      [{ kind: 'Group', name: 'g', apiGroup: 'x' }],
      'subjects[0].apiGroup: Unsupported value: "x": supported values: "rbac.authorization.orch.io"',
    ],
    [
      'subjects',
      [{ kind: 'ServiceAccount', name: 'A', namespace: 'ns' }],
      `subjects[0].name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'subjects',
      [{ kind: 'ServiceAccount', name: 'a', namespace: 'ns', apiGroup: 'x' }],
      'subjects[0].apiGroup: Unsupported value: "x": supported values: ""',
    ],
    ['subjects', [{ kind: 'ServiceAccount', name: 'a' }]],
    ['subjects', []],
  ];
  checkRules(t, roleBindingStrategy, base, create);
  const update: RuleRow[] = [
    [
      'roleRef.name',
      's',
      'roleRef: Invalid value: rbac.RoleRef{APIGroup:"rbac.authorization.orch.io", Kind:"Role", Name:"s"}: cannot change roleRef',
    ],
    [
      'roleRef.kind',
      'ClusterRole',
      'roleRef: Invalid value: rbac.RoleRef{APIGroup:"rbac.authorization.orch.io", Kind:"ClusterRole", Name:"r"}: cannot change roleRef',
    ],
    ['subjects', []],
  ];
  checkUpdateRules(t, roleBindingStrategy, base, update);
  t.end();
});

t.test('cluster role bindings are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'a' },
    roleRef: { kind: 'ClusterRole', name: 'r' },
    subjects: [{ kind: 'User', name: 'u' }],
  };
  const create: RuleRow[] = [
    [
      'roleRef',
      { kind: 'Other', name: 'r' },
      'roleRef.kind: Unsupported value: "Other": supported values: "ClusterRole"',
    ],
    ['roleRef', { kind: 'ClusterRole', name: 'a/b' }, `roleRef.name: Invalid value: "a/b": may not contain '/'`],
    ['roleRef', { kind: 'ClusterRole' }, 'roleRef.name: Required value'],
    [
      'roleRef',
      { kind: 'ClusterRole', name: 'r', apiGroup: 'other' },
      'roleRef.apiGroup: Unsupported value: "other": supported values: "rbac.authorization.orch.io"',
    ],
    [
      'roleRef',
      undefined,
      'roleRef.kind: Unsupported value: "": supported values: "ClusterRole"',
      'roleRef.name: Required value',
    ],
    ['subjects', [{ kind: 'User' }], 'subjects[0].name: Required value'],
    [
      'subjects',
      [{ kind: 'Other', name: 'u' }],
      'subjects[0].kind: Unsupported value: "Other": supported values: "ServiceAccount", "User", "Group"',
    ],
    [
      'subjects',
      [{ kind: 'Group', name: 'g', apiGroup: 'x' }],
      'subjects[0].apiGroup: Unsupported value: "x": supported values: "rbac.authorization.orch.io"',
    ],
    [
      'subjects',
      [{ kind: 'ServiceAccount', name: 'A', namespace: 'ns' }],
      `subjects[0].name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'subjects',
      [{ kind: 'ServiceAccount', name: 'a', namespace: 'ns', apiGroup: 'x' }],
      'subjects[0].apiGroup: Unsupported value: "x": supported values: ""',
    ],
    ['subjects', [{ kind: 'ServiceAccount', name: 'a' }], 'subjects[0].namespace: Required value'],
    ['subjects', []],
    [
      'roleRef',
      { kind: 'Role', name: 'r' },
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
    ],
    ['metadata.namespace', 'ns', 'metadata.namespace: Forbidden: not allowed on this type'],
  ];
  checkRules(t, clusterRoleBindingStrategy, base, create);
  const update: RuleRow[] = [
    [
      'roleRef.name',
      's',
      'roleRef: Invalid value: rbac.RoleRef{APIGroup:"rbac.authorization.orch.io", Kind:"ClusterRole", Name:"s"}: cannot change roleRef',
    ],
    ['subjects', [{ kind: 'Group', name: 'g', apiGroup: 'rbac.authorization.orch.io' }]],
  ];
  checkUpdateRules(t, clusterRoleBindingStrategy, base, update);
  t.end();
});
