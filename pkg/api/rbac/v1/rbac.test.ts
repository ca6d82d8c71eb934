import t from 'tap';
import { clusterRoleBindingStrategy, roleBindingStrategy } from '#api/rbac/v1/binding/strategy.js';
import { clusterRoleStrategy, roleStrategy } from '#api/rbac/v1/role/strategy.js';
import {
  created,
  createFailures,
  type Draft,
  testContext,
  updateFailures,
  withField,
} from '#api/testing/strategy-table.js';

const meta = { name: 'system:a', namespace: 'ns', creationTimestamp: '2024-05-31T23:00:00Z' };
const group = 'rbac.authorization.orch.io';
type Row = [string, unknown, ...string[]];

t.test('roles', (t) => {
  const rule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
  const base: Draft = { metadata: meta, rules: [rule] };
  const rows: Row[] = [
    ['metadata.name', 'a/b', 'metadata.name: Invalid value: "a/b": may not contain \'/\''],
    ['rules', [{ ...rule, verbs: [] }], 'rules[0].verbs: Required value: verbs must contain at least one value'],
    [
      'rules',
      [{ ...rule, apiGroups: [] }],
      'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
    ],
    [
      'rules',
      [{ ...rule, resources: [] }],
      'rules[0].resources: Required value: resource rules must supply at least one resource',
    ],
    [
      'rules',
      [{ verbs: ['get'], nonResourceURLs: ['/x'] }],
      'rules[0].nonResourceURLs: Invalid value: []string{"/x"}: namespaced rules cannot apply to non-resource URLs',
    ],
  ];
  t.strictSame(createFailures(roleStrategy, base), []);
  for (const [path, value, ...want] of rows)
    t.strictSame(createFailures(roleStrategy, withField(base, path, value)), want);
  const wide = withField(base, 'metadata.namespace', undefined);
  t.strictSame(
    createFailures(clusterRoleStrategy, withField(wide, 'rules', [{ verbs: ['get'], nonResourceURLs: ['/x'] }])),
    [],
  );
  t.strictSame(createFailures(clusterRoleStrategy, withField(wide, 'rules', [{ ...rule, nonResourceURLs: ['/x'] }])), [
    'rules[0].nonResourceURLs: Invalid value: []string{"/x"}: rules cannot apply to both regular resources and non-resource URLs',
  ]);
  t.strictSame(createFailures(clusterRoleStrategy, { ...wide, aggregationRule: {} }), [
    'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
  ]);
  t.strictSame(roleStrategy.cells?.(created(roleStrategy, base) as never, testContext), [
    'system:a',
    meta.creationTimestamp,
  ]);
  t.end();
});

t.test('bindings', (t) => {
  const base: Draft = {
    metadata: meta,
    roleRef: { kind: 'Role', name: 'r' },
    subjects: [
      { kind: 'User', name: 'u' },
      { kind: 'Group', name: 'g' },
      { kind: 'ServiceAccount', name: 's', namespace: 'ns' },
    ],
  };
  const rows: Row[] = [
    ['roleRef.kind', 'X', 'roleRef.kind: Unsupported value: "X": supported values: "Role", "ClusterRole"'],
    ['roleRef.name', '', 'roleRef.name: Required value'],
    ['roleRef.apiGroup', 'x', `roleRef.apiGroup: Unsupported value: "x": supported values: "${group}"`],
    ['subjects', [{ kind: 'User' }], 'subjects[0].name: Required value'],
    [
      'subjects',
      [{ kind: 'X', name: 'x' }],
      'subjects[0].kind: Unsupported value: "X": supported values: "ServiceAccount", "User", "Group"',
    ],
    ['subjects', [{ kind: 'ServiceAccount', name: 's' }]],
    [
      'subjects',
      [{ kind: 'User', name: 'u', apiGroup: 'x' }],
      `subjects[0].apiGroup: Unsupported value: "x": supported values: "${group}"`,
    ],
  ];
  t.strictSame(createFailures(roleBindingStrategy, base), []);
  for (const [path, value, ...want] of rows) {
    t.strictSame(createFailures(roleBindingStrategy, withField(base, path, value)), want, path);
  }
  t.match(created(roleBindingStrategy, base), {
    roleRef: { apiGroup: group },
    subjects: [{ apiGroup: group }, { apiGroup: group }, {}],
  });
  const wide = withField(base, 'metadata.namespace', undefined);
  t.match(createFailures(clusterRoleBindingStrategy, wide), [
    'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
  ]);
  const accounts = withField(withField(wide, 'roleRef.kind', 'ClusterRole'), 'subjects', [
    { kind: 'ServiceAccount', name: 's' },
  ]);
  t.strictSame(createFailures(clusterRoleBindingStrategy, accounts), ['subjects[0].namespace: Required value']);
  t.match(updateFailures(roleBindingStrategy, base, withField(base, 'roleRef.name', 'q')), [
    /^roleRef: Invalid value: .*: cannot change roleRef$/,
  ]);
  t.strictSame(roleBindingStrategy.cells?.(created(roleBindingStrategy, base) as never, testContext), [
    'system:a',
    'Role/r',
    '60m',
    'u',
    'g',
    'ns/s',
  ]);
  t.end();
});
