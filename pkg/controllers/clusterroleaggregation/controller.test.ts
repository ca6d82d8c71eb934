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

t.test('an aggregated role gets the rules of the selected roles by apply', async (t) => {
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
  t.same(rulesOf('view'), [rule('pods'), rule('nodes')], 'rules without duplicates, sorted by role name');
  t.same(rulesOf('all'), [rule('pods'), rule('nodes')], 'rules of another aggregated role');
  t.ok(api.takeWrites().every((write) => write.startsWith('patch clusterroles ')));
  await harness.advance(60_000);
  t.same(api.takeWrites(), []);
});
