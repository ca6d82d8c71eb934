import t from 'tap';
import type { ClusterRole, PolicyRule } from '#api/rbac/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { uncoveredRules } from '#apiserver/authorization/rbac/rule-coverage.js';
import { bootstrapClusterRoleBindings, bootstrapRoleBindings, bootstrapRoles } from '#apiserver/bootstrap/bindings.js';
import { plannedBinding, plannedRole } from '#apiserver/bootstrap/bootstrap.js';
import { bootstrapClusterRoles } from '#apiserver/bootstrap/cluster-roles.js';
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from '#apiserver/bootstrap/flow-control.js';
import { rule } from '#apiserver/bootstrap/rule-notation.js';

const names = (objects: readonly { metadata: { name?: string; namespace?: string } }[]) =>
  objects.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`);

for (const dialect of [orchDialect, kubernetesDialect])
  t.test(`default objects of the ${dialect.name} dialect`, (t) => {
    const roles = bootstrapClusterRoles(dialect, () => true);
    const bindings = bootstrapClusterRoleBindings(dialect, () => true);
    for (const objects of [roles, bindings, bootstrapRoles(dialect), bootstrapRoleBindings(dialect)])
      t.equal(new Set(names(objects)).size, objects.length, 'names are unique');
    const roleNames = new Set(names(roles));
    for (const { roleRef } of bindings) t.ok(roleNames.has(`/${roleRef.name}`), roleRef.name);
    const ownRoles = new Set(names(bootstrapRoles(dialect)));
    for (const { metadata, roleRef } of bootstrapRoleBindings(dialect))
      t.ok(ownRoles.has(`${metadata.namespace}/${roleRef.name}`), roleRef.name);
    const levels = new Set(names(bootstrapPriorityLevels(dialect)));
    for (const { spec } of bootstrapFlowSchemas(dialect))
      t.ok(levels.has(`/${spec?.priorityLevelConfiguration.name}`), spec?.priorityLevelConfiguration.name);
    const text = JSON.stringify([roles, bindings]);
    const other = dialect === orchDialect ? /k8s|kube/ : /orch/;
    t.notMatch(text, other, 'no names of the other dialect');
    t.end();
  });

t.test('admin includes edit, and edit includes view', (t) => {
  const roles = bootstrapClusterRoles(orchDialect, () => false);
  const role = (name: string) => roles.find(({ metadata }) => metadata.name === name);
  /** Aggregates like the controller manager. */
  const aggregate = ({ aggregationRule, rules = [] }: ClusterRole): PolicyRule[] => {
    if (aggregationRule === undefined) return [...rules];
    const labels = (aggregationRule.clusterRoleSelectors ?? []).flatMap(({ matchLabels }) =>
      Object.keys(matchLabels ?? {}),
    );
    return roles
      .filter(({ metadata }) => labels.some((label) => metadata.labels?.[label] === 'true'))
      .flatMap(aggregate);
  };
  const [admin = [], edit = [], view = []] = ['admin', 'edit', 'view'].map((name) =>
    aggregate(role(name) ?? { metadata: {} }),
  );
  t.ok(view.length > 0);
  t.same(uncoveredRules(edit, view), [], 'edit includes view');
  t.same(uncoveredRules(admin, edit), [], 'admin includes edit');
  t.not(uncoveredRules(view, edit).length, 0);
  t.same(
    view.flatMap(({ resources = [] }) => resources.filter((name) => name === 'secrets')),
    [],
    'view excludes secrets',
  );
  for (const name of ['admin', 'edit', 'view'])
    t.same(role(name)?.rules ?? [], [], 'the controller manager fills these in');
  t.end();
});

t.test('roles are completed, not overwritten', (t) => {
  const read = rule(orchDialect, 'get list | core | pods');
  const desired: ClusterRole = { metadata: { name: 'r', labels: { a: '1' } }, rules: [read] };
  t.equal(plannedRole(desired, { ...desired }, orchDialect), undefined);
  const wider = [rule(orchDialect, '* | * | *')];
  t.equal(plannedRole(desired, { ...desired, rules: wider }, orchDialect), undefined, 'additional rules stay');
  const narrow = { metadata: { name: 'r', labels: { b: '2' } }, rules: [rule(orchDialect, 'get | core | pods')] };
  t.match(plannedRole(desired, narrow, orchDialect), {
    metadata: { labels: { a: '1', b: '2' } },
    rules: [{ verbs: ['get'] }, { verbs: ['get', 'list'], resources: ['pods'] }],
  });
  const annotations = { [orchDialect.annotations.autoUpdate]: 'false' };
  t.equal(plannedRole(desired, { metadata: { name: 'r', annotations } }, orchDialect), undefined, 'left alone');
  t.end();
});

t.test('bindings get missing subjects, and are recreated for another role', (t) => {
  const roleRef = { apiGroup: 'g', kind: 'ClusterRole', name: 'r' };
  const alice = { kind: 'User', name: 'alice' };
  const bob = { kind: 'User', name: 'bob' };
  const desired = { metadata: { name: 'b' }, roleRef, subjects: [alice] };
  t.same(plannedBinding(desired, desired, orchDialect), { kind: 'keep' });
  t.match(plannedBinding(desired, { ...desired, subjects: [bob] }, orchDialect), {
    kind: 'update',
    object: { subjects: [bob, alice] },
  });
  const other = { ...desired, roleRef: { ...roleRef, name: 'x' }, subjects: [bob] };
  t.match(plannedBinding(desired, other, orchDialect), {
    kind: 'recreate',
    object: { roleRef, subjects: [bob, alice] },
  });
  t.end();
});
