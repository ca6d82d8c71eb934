import t, { type Test } from 'tap';
import type { ApiObjectShape } from '#api/meta/object.js';
import { clusterrolebindings, clusterroles, rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role } from '#api/rbac/v1/types.gen.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import { RbacEscalation } from '#apiserver/admission/rbac-escalation.js';
import { RbacAuthorizer } from '#apiserver/authorization/rbac/rbac-authorizer.js';
import { RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';
import { compactRules, uncoveredRules } from '#apiserver/authorization/rbac/rule-coverage.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';

const group = dialect.groupName('rbac');
const read: PolicyRule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
const everything: PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** Changes an object as a user with the given rules; the message of the refusal, if any. */
async function start(t: Test, rules: PolicyRule[]) {
  const reader = new MemoryObjectReader();
  const index = new RbacIndex();
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  await index.start(reader, stop.signal);
  reader.put<ClusterRole>(clusterroles, { metadata: { name: 'eve' }, rules });
  reader.put<ClusterRole>(clusterroles, { metadata: { name: 'cluster-admin' }, rules: everything });
  reader.put<ClusterRoleBinding>(clusterrolebindings, {
    metadata: { name: 'eve' },
    subjects: [{ kind: 'User', name: 'eve' }],
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'eve' },
  });
  const rbac = new RbacAuthorizer(index, dialect);
  const plugin = new RbacEscalation({ dialect, index, rbac, authorizer: rbac });
  return async (resource: ResourceDeclaration, object: ApiObjectShape, oldObject?: ApiObjectShape): Promise<string> => {
    const attributes = {
      operation: oldObject === undefined ? ('CREATE' as const) : ('UPDATE' as const),
      resource,
      subresource: '',
      namespace: object.metadata.namespace ?? '',
      name: object.metadata.name ?? '',
      user: { name: 'eve', groups: ['dev'] },
      dryRun: false,
      object,
      ...(oldObject && { oldObject }),
      warn: () => undefined,
      require: () => undefined,
    };
    if (!plugin.handles(attributes)) return 'not looked at';
    return plugin.validate(attributes).then(
      () => '',
      (error: Error) => error.message,
    );
  };
}

const role = (more: Partial<ClusterRole> = {}, metadata: ApiObjectShape['metadata'] = {}): ClusterRole => ({
  metadata: { name: 'r', ...metadata },
  rules: [read],
  ...more,
});
const lacks =
  /^clusterroles.* "r" is forbidden: user "eve" \(groups=\["dev"\]\) is attempting to grant RBAC permissions not/;
const aggregate = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] };
const needsAll = /must have cluster-admin privileges to use the aggregationRule$/;

t.test('users who lack a role’s rights cannot change it', async (t) => {
  const change = await start(t, [{ verbs: ['patch'], apiGroups: [group], resources: ['*'] }]);
  const old = role();
  const label = { [`rbac.authorization.${dialect.apiDomain}/aggregate-to-view`]: 'true' };
  t.match(
    await change(clusterroles, role({}, { labels: label }), old),
    lacks,
    'a label by which others take its rules',
  );
  t.match(await change(clusterroles, role({}, { annotations: { a: 'b' } }), old), lacks);
  t.match(await change(clusterroles, role({ rules: [read, ...everything] }), old), lacks);
  t.match(await change(clusterroles, role()), lacks, 'a new role with missing rights is refused');
  t.match(
    await change(clusterroles, role({ rules: everything }, { labels: label }), role({ rules: everything })),
    lacks,
    'all rights',
  );
  t.equal(await change(clusterroles, role({ rules: [] }), old), '', 'rights can be removed');
  t.equal(
    await change(clusterroles, role({}, { finalizers: ['a/b'], resourceVersion: '2' }), old),
    '',
    'finalizers can be removed',
  );
  const own: Role = { metadata: { name: 'r', namespace: 'ns' }, rules: [read] };
  t.match(
    await change(roles, { ...own, metadata: { ...own.metadata, labels: { a: 'b' } } }, own),
    /not currently held/,
  );
});

t.test('an aggregation rule requires all rights', async (t) => {
  const change = await start(t, [read]);
  t.match(await change(clusterroles, role({ aggregationRule: aggregate })), needsAll);
  t.match(await change(clusterroles, role({ aggregationRule: aggregate }), role()), needsAll);
  t.match(await change(clusterroles, role(), role({ aggregationRule: aggregate })), needsAll, 'removed');
  const old = role({ aggregationRule: aggregate });
  t.match(await change(clusterroles, role({ aggregationRule: aggregate }, { labels: { x: 'y' } }), old), needsAll);
  t.equal(await change(clusterroles, role({ aggregationRule: aggregate }, { finalizers: ['a/b'] }), old), '');
  t.equal(
    await change(clusterroles, role({}, { labels: { x: 'y' } }), role()),
    '',
    'without one, her own rights are enough',
  );
  const admin = await start(t, everything);
  t.equal(await admin(clusterroles, role(), role({ aggregationRule: aggregate })), '');
});

t.test('the verbs escalate and bind allow it', async (t) => {
  const may = (verb: string, name?: string): PolicyRule[] => [
    { verbs: [verb], apiGroups: [group], resources: ['clusterroles'], ...(name && { resourceNames: [name] }) },
  ];
  const escalate = await start(t, may('escalate', 'r'));
  t.equal(await escalate(clusterroles, role({ rules: everything, aggregationRule: aggregate }), role()), '');
  t.match(
    await escalate(clusterroles, role({ rules: everything })),
    lacks,
    'escalate on a name does not cover a new role',
  );
  t.match(
    await escalate(clusterroles, role({}, { name: 's', labels: { a: 'b' } }), role({}, { name: 's' })),
    /not currently/,
  );
  const binding = (name: string, metadata: object = {}) => ({
    metadata: { name: 'b', namespace: 'ns', ...metadata },
    subjects: [{ kind: 'User', name: 'eve' }],
    roleRef: { apiGroup: group, kind: 'ClusterRole', name },
  });
  const bind = await start(t, may('bind', 'cluster-admin'));
  t.equal(await bind(rolebindings, binding('cluster-admin')), '');
  t.equal(await bind(rolebindings, binding('none')), `clusterroles.${group} "none" not found`);
  const none = await start(t, [read]);
  t.match(await none(rolebindings, binding('cluster-admin')), /not currently held/);
  const old = binding('cluster-admin');
  t.match(await none(rolebindings, binding('cluster-admin', { labels: { a: 'b' } }), old), /not currently held/);
  t.equal(await none(rolebindings, binding('cluster-admin', { finalizers: ['a/b'] }), old), '');
});

t.test('the message names missing rights briefly, and a role of excessive size is refused', async (t) => {
  const change = await start(t, [read]);
  const secretRules = [{ verbs: ['list', 'get', 'watch'], apiGroups: [''], resources: ['secrets', 'pods'] }];
  t.match(
    await change(clusterroles, role({ rules: secretRules })),
    'held:\n{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}\n' +
      '{APIGroups:[""], Resources:["secrets"], Verbs:["list" "get" "watch"]}',
  );
  const many = Array.from({ length: 1000 }, (_, i) => `x${i}`);
  const huge: PolicyRule = { verbs: many, apiGroups: many, resources: many, resourceNames: many };
  t.same(uncoveredRules([read], [huge]), [huge], '10^12 rights are refused without listing them');
  t.same(uncoveredRules(everything, [huge]), [], 'full authority covers them');
  const rules = many.flatMap((resource): PolicyRule[] => [
    { verbs: many.slice(0, 30), apiGroups: [''], resources: [resource] },
  ]);
  t.ok((await change(clusterroles, role({ rules }))).length < 40_000);
  t.equal(compactRules(uncoveredRules([], [read, { ...read, verbs: ['list'] }])).length, 1);
});
