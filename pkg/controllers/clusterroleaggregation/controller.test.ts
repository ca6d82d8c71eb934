import t from 'tap';
import { clusterroles } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole, PolicyRule } from '#api/rbac/v1/types.gen.js';
import { ClusterRoleAggregationController } from '#controllers/clusterroleaggregation/controller.js';
import { Harness } from '#controllers/framework/testing/harness.js';

const rule = (resource: string): PolicyRule => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });
const role = (name: string, labels: Record<string, string>, rules: PolicyRule[]): ClusterRole => ({
  metadata: { name, labels },
  rules,
});

t.test('a role gets the rules of those that its selectors match, as one that applies them', async (t) => {
  const harness = new Harness(t, [clusterroles]);
  const { api } = harness;
  const rulesOf = (name: string) => api.get(clusterroles, name)?.rules;
  api.seed(clusterroles, role('b', { to: 'view' }, [rule('pods'), rule('nodes')]));
  api.seed(clusterroles, role('a', { to: 'edit' }, [rule('pods')]));
  api.seed(clusterroles, {
    metadata: { name: 'view', labels: { to: 'all' } },
    aggregationRule: {
      clusterRoleSelectors: [{ matchExpressions: [{ key: 'to', operator: 'In', values: ['view', 'edit'] }] }],
    },
  });
  api.seed(clusterroles, {
    metadata: { name: 'all' },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { to: 'all' } }] },
    rules: [rule('secrets')],
  });
  await harness.start(new ClusterRoleAggregationController(harness.context));
  t.same(rulesOf('view'), [rule('pods'), rule('nodes')], 'each rule once, by the names of the roles');
  t.same(rulesOf('all'), [rule('pods'), rule('nodes')], 'of an aggregated role, too');
  t.ok(api.takeWrites().every((write) => write.startsWith('patch clusterroles ')));
  await harness.advance(60_000);
  t.same(api.takeWrites(), []);
});
