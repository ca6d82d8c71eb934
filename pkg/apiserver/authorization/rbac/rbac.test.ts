import t from 'tap';
import { clusterrolebindings, clusterroles, rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type { PolicyRule, RoleRef, Subject } from '#api/rbac/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import { uncoveredRules } from '#apiserver/authorization/rbac/covers.js';
import { RbacAuthorizer } from '#apiserver/authorization/rbac/rbac-authorizer.js';
import { RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';
import { ruleAllows } from '#apiserver/authorization/rbac/rule-match.js';
import { MemoryObjectReader } from '#apiserver/objects/memory-object-reader.js';

const ask = (text: string, more: Partial<AuthorizationAttributes> = {}): AuthorizationAttributes => {
  // `get apps/deployments/scale web/front` or `get /healthz`
  const [verb = '', what = '', where = ''] = text.split(' ');
  const base = { user: { name: 'alice', groups: ['dev'] }, verb, version: 'v1', path: what };
  const empty = { group: '', resource: '', subresource: '', namespace: '', name: '' };
  if (what.startsWith('/')) return { ...base, ...empty, resourceRequest: false, ...more };
  const [group = '', resource = '', subresource = ''] = what.split('/');
  const [namespace = '', name = ''] = where.split('/');
  const inCore = group === 'core' ? '' : group;
  return { ...base, resourceRequest: true, group: inCore, resource, subresource, namespace, name, ...more };
};

t.test('rules', (t) => {
  const rule = (verbs: string, groups: string, resources: string, names = ''): PolicyRule => ({
    verbs: verbs.split(','),
    apiGroups: groups.split(',').map((group) => (group === 'core' ? '' : group)),
    resources: resources.split(','),
    ...(names === '' ? {} : { resourceNames: names.split(',') }),
  });
  const paths = (...urls: string[]): PolicyRule => ({ verbs: ['get'], nonResourceURLs: urls });
  const table: [PolicyRule, string, boolean][] = [
    [rule('get', 'core', 'pods'), 'get core/pods ns/a', true],
    [rule('get', 'core', 'pods'), 'list core/pods ns', false],
    [rule('*', 'core', 'pods'), 'deletecollection core/pods ns', true],
    [rule('get', 'core', 'pods'), 'get core/pods/log ns/a', false],
    [rule('get', 'core', 'pods/log'), 'get core/pods/log ns/a', true],
    [rule('get', 'core', 'pods/log'), 'get core/pods ns/a', false],
    [rule('get', '*', '*/scale'), 'get apps/deployments/scale ns/a', true],
    [rule('get', '*', '*/scale'), 'get apps/deployments/status ns/a', false],
    [rule('get', '*', '*/scale'), 'get apps/deployments ns/a', false],
    [rule('get', '*', '*'), 'get apps/deployments/scale ns/a', true],
    [rule('get', 'apps', '*'), 'get core/pods ns/a', false],
    [rule('get', 'core', 'pods', 'a,b'), 'get core/pods ns/b', true],
    [rule('get', 'core', 'pods', 'a,b'), 'get core/pods ns/c', false],
    [rule('list', 'core', 'pods', 'a'), 'list core/pods ns', false],
    [rule('*', '*', '*'), 'get /healthz', false],
    [paths('/healthz'), 'get /healthz', true],
    [paths('/healthz'), 'get /healthz/etcd', false],
    [paths('/healthz/*'), 'get /healthz/etcd', true],
    [paths('/healthz/*'), 'get /healthz', false],
    [paths('*'), 'get /anything', true],
    [paths('*'), 'post /anything', false],
    [paths('*'), 'get core/pods ns/a', false],
  ];
  for (const [policy, request, allowed] of table)
    t.equal(ruleAllows(policy, ask(request)), allowed, `${JSON.stringify(policy)} ${request}`);
  t.end();
});

const readPods: PolicyRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] };
const ref = (kind: string, name: string): RoleRef => ({ apiGroup: dialect.groupName('rbac'), kind, name });
const user = (name: string): Subject => ({ kind: 'User', name });

t.test('bindings', async (t) => {
  const reader = new MemoryObjectReader();
  const stop = new AbortController();
  const index = new RbacIndex();
  await index.start(reader, stop.signal);
  const authorizer = new RbacAuthorizer(index, dialect);
  const allowed = async (request: string, more: Partial<AuthorizationAttributes> = {}) =>
    (await authorizer.authorize(ask(request, more))).decision === 'allow';

  reader.put(roles, { metadata: { name: 'reader', namespace: 'ns' }, rules: [readPods] });
  reader.put(clusterroles, { metadata: { name: 'reader' }, rules: [readPods] });
  t.notOk(await allowed('get core/pods ns/a'));
  const binding = { metadata: { name: 'b', namespace: 'ns' }, roleRef: ref('Role', 'reader') };
  reader.put(rolebindings, { ...binding, subjects: [user('alice')] });
  t.ok(await allowed('get core/pods ns/a'));
  t.notOk(await allowed('get core/pods other/a'), 'another namespace');
  t.notOk(await allowed('list core/pods'), 'all namespaces');
  t.match(await authorizer.authorize(ask('get core/pods ns/a')), {
    reason: 'RBAC: allowed by RoleBinding "b/ns" of Role "reader" to User "alice"',
  });
  reader.put(rolebindings, { ...binding, subjects: [user('bob')] });
  t.notOk(await allowed('get core/pods ns/a'), 'subject taken away');
  reader.put(rolebindings, { ...binding, subjects: [{ kind: 'ServiceAccount', name: 'sa' }] });
  t.ok(await allowed('get core/pods ns/a', { user: { name: 'system:serviceaccount:ns:sa', groups: [] } }));
  reader.remove(rolebindings, 'ns', 'b');
  reader.put(clusterrolebindings, {
    metadata: { name: 'all' },
    subjects: [{ kind: 'Group', name: 'dev' }],
    roleRef: ref('ClusterRole', 'reader'),
  });
  t.ok(await allowed('list core/pods'));
  t.ok(await allowed('list core/pods anywhere'));
  reader.put(clusterroles, { metadata: { name: 'reader' } });
  t.notOk(await allowed('list core/pods'), 'the role lost its rules');
  reader.remove(clusterroles, '', 'reader');
  t.same(await authorizer.authorize(ask('list core/pods')), {
    decision: 'noOpinion',
    reason: 'RBAC: clusterrole.rbac.authorization.orch.io "reader" not found',
  });
  stop.abort();
});

t.test('nobody hands out more than they have', (t) => {
  const all: PolicyRule = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
  const table: [PolicyRule[], PolicyRule, number][] = [
    [[all], readPods, 0],
    [[readPods], readPods, 0],
    [[{ ...readPods, verbs: ['get'] }], readPods, 1],
    [
      [
        { ...readPods, verbs: ['get'] },
        { ...readPods, verbs: ['list'] },
      ],
      readPods,
      0,
    ],
    [[{ ...readPods, resourceNames: ['a'] }], readPods, 2],
    [[{ ...readPods, resourceNames: ['a'] }], { ...readPods, resourceNames: ['a'] }, 0],
    [[readPods], { ...readPods, resources: ['pods', 'pods/log'] }, 2],
    [[{ ...readPods, resources: ['*/log'] }], { ...readPods, resources: ['pods/log'] }, 0],
    [[readPods], all, 1],
    [[{ verbs: ['get'], nonResourceURLs: ['/a/*'] }], { verbs: ['get'], nonResourceURLs: ['/a/b', '/a/*', '/b'] }, 1],
    [[all], { verbs: ['get'], nonResourceURLs: ['/a'] }, 1],
  ];
  for (const [owned, wanted, missing] of table)
    t.equal(uncoveredRules(owned, [wanted]).length, missing, `${JSON.stringify(owned)} ${JSON.stringify(wanted)}`);
  t.end();
});
