import t from 'tap';
import { clusterrolebindings, clusterroles, rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type { PolicyRule, RoleRef, Subject } from '#api/rbac/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import { RbacAuthorizer } from '#apiserver/authorization/rbac/rbac-authorizer.js';
import { RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';
import { compactRules, uncoveredRules } from '#apiserver/authorization/rbac/rule-coverage.js';
import { ruleAllows } from '#apiserver/authorization/rbac/rule-match.js';
import { RuleSet } from '#apiserver/authorization/rbac/rule-set.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';

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

t.test('rules match requests', (t) => {
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

t.test('an indexed role allows the same as its single rules', (t) => {
  const random = seededRandom(7);
  const pick = (values: readonly string[]) => values[Math.floor(random() * values.length)] ?? '';
  const some = (values: readonly string[], most: number) =>
    Array.from({ length: 1 + Math.floor(random() * most) }, () => pick(values));
  const verbs = ['get', 'list', 'watch', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k'];
  const groups = ['', 'apps', 'batch', 'x', 'y', 'z'];
  const resources = ['pods', 'pods/log', 'things', 'things/scale', '*/scale', 'a', 'b', 'c', 'd', 'e'];
  const names = ['a', 'b', 'c', ''];
  let allowed = 0;
  for (let round = 0; round < 60; round++) {
    const rules = Array.from({ length: 30 }, (): PolicyRule => {
      if (random() < 0.1) return { verbs: some(verbs, 3), nonResourceURLs: ['/a/*', '/b'] };
      const star = (values: string[]) => (random() < 0.03 ? ['*'] : values);
      return {
        verbs: star(some(verbs, 6)),
        apiGroups: star(some(groups, 4)),
        resources: star(some(resources, 6)),
        ...(random() < 0.7 ? { resourceNames: some(names, 3) } : {}),
      };
    });
    const set = new RuleSet(rules);
    for (let i = 0; i < 100; i++) {
      const request =
        random() < 0.1
          ? ask(`${pick(verbs)} ${pick(['/a/b', '/b', '/c'])}`)
          : ask(`${pick(verbs)} ${pick(groups) || 'core'}/${pick(resources.slice(0, 4))} ns/${pick(names)}`);
      const one = rules.some((rule) => ruleAllows(rule, request));
      if (one) allowed++;
      if (set.allows(request) !== one) t.fail(JSON.stringify([request, rules]));
    }
  }
  t.ok(allowed > 500 && allowed < 5500, `${allowed}`);
  t.end();
});

const readPods: PolicyRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] };
const ref = (kind: string, name: string): RoleRef => ({ apiGroup: dialect.groupName('rbac'), kind, name });
const user = (name: string): Subject => ({ kind: 'User', name });

t.test('bindings grant roles to subjects', async (t) => {
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
  t.notOk(await allowed('get core/pods ns/a'), 'the subject was removed');
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

t.test('a role bound twice is listed once, and the list is limited', async (t) => {
  const reader = new MemoryObjectReader();
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const index = new RbacIndex();
  await index.start(reader, stop.signal);
  const authorizer = new RbacAuthorizer(index, dialect);
  const asker = { name: 'alice', groups: ['dev'] };
  reader.put(roles, { metadata: { name: 'reader', namespace: 'ns' }, rules: [readPods] });
  const metadata = { name: 'b', namespace: 'ns' };
  const subjects = [{ kind: 'Group', name: 'dev' }, user('alice'), user('alice')];
  reader.put(rolebindings, { metadata, roleRef: ref('Role', 'reader'), subjects });
  reader.put(rolebindings, { metadata: { name: 'c', namespace: 'ns' }, roleRef: ref('Role', 'reader'), subjects });
  t.same(authorizer.rulesFor(asker, 'ns'), { rules: [readPods], errors: [], incomplete: false });
  t.match(authorizer.authorize(ask('get core/pods ns/a')), { reason: / to Group "dev"$/ }, 'the first subject');
  const many = { ...asker, groups: [...Array.from({ length: 100 }, (_, i) => `g${i}`), 'dev'] };
  t.same(authorizer.rulesFor(many, 'ns').rules, [readPods], 'a user with more groups than bound subjects');
  for (const name of ['x', 'y', 'z']) {
    const rules = [{ ...readPods, resourceNames: Array.from({ length: 150_000 }, (_, i) => `${name}${i}`) }];
    reader.put(roles, { metadata: { name, namespace: 'ns' }, rules });
    reader.put(rolebindings, { metadata: { name, namespace: 'ns' }, roleRef: ref('Role', name), subjects });
  }
  const { rules, errors } = authorizer.rulesFor(asker, 'ns');
  t.equal(rules.length, 3);
  t.same(errors, ['there are too many rules to list all']);
  reader.remove(rolebindings, 'ns', 'b');
  reader.remove(rolebindings, 'ns', 'c');
  for (const name of ['x', 'y', 'z']) reader.remove(rolebindings, 'ns', name);
  t.notOk((await authorizer.authorize(ask('list core/pods ns'))).decision === 'allow');
});

t.test('users cannot grant rights that they do not have', (t) => {
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
  const named = (name: string): PolicyRule => ({ ...readPods, resourceNames: [name] });
  const names = Array.from({ length: 5000 }, (_, i) => named(`a${i}`));
  t.same(uncoveredRules(names, [...names, named('b')]).length, 2, 'any number of rules');
  const verbs = Array.from({ length: 150_000 }, (_, i) => `v${i}`);
  t.equal(
    compactRules([
      { ...readPods, verbs },
      { ...readPods, verbs },
    ])[0]?.verbs.length,
    300_000,
  );
  for (const [owned, requested, missing] of table)
    t.equal(
      uncoveredRules(owned, [requested]).length,
      missing,
      `${JSON.stringify(owned)} ${JSON.stringify(requested)}`,
    );
  t.end();
});
