import t, { type Test } from 'tap';
import { configmaps, namespaces, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { ConfigMap, Namespace } from '#api/core/v1/types.gen.js';
import { clusterroles } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole } from '#api/rbac/v1/types.gen.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import { ClusterRoleAggregationController } from '#controllers/clusterroleaggregation/controller.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { RootCAController } from '#controllers/rootca/controller.js';
import { ServiceAccountController } from '#controllers/serviceaccount/controller.js';
import { Settable } from '#daemon/certificates/testing/settable.js';

function setUp(t: Test) {
  const harness = new Harness(t, [namespaces, serviceaccounts, configmaps]);
  const { api, context } = harness;
  const namespace = (name: string, phase = 'Active') =>
    api.seed<Namespace>(namespaces, { metadata: { name }, spec: {}, status: { phase } });
  const rootCA = new Settable('pem');
  const start = () => harness.start(new ServiceAccountController(context), new RootCAController(context, { rootCA }));
  return { harness, api, namespace, rootCA, start };
}

t.test('each namespace has its account and certificate, also after deletions', async (t) => {
  const { harness, api, namespace, rootCA, start } = setUp(t);
  namespace('a');
  namespace('leaving', 'Terminating');
  const heal = harness.fail((call) => call.verb === 'create', serviceUnavailable('down'));
  await start();
  heal();
  await harness.advance(60_000);
  namespace('b');
  await harness.settled();
  t.same(
    api.list(serviceaccounts).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    ['a/default', 'b/default'],
  );
  t.same(
    api.list(configmaps).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    ['a/orch-root-ca.crt', 'b/orch-root-ca.crt'],
  );
  api.remove(serviceaccounts, 'a/default');
  api.change<ConfigMap>(configmaps, 'a/orch-root-ca.crt', (map) => {
    map.data = { 'ca.crt': 'tampered', more: 'x' };
  });
  await harness.settled();
  t.ok(api.get(serviceaccounts, 'a/default'));
  t.same(api.get(configmaps, 'a/orch-root-ca.crt')?.data, { 'ca.crt': 'pem' });
  api.takeWrites();
  await harness.advance(600_000);
  t.same(api.takeWrites(), []);
  rootCA.set('another');
  await harness.settled();
  t.same(
    api.list<ConfigMap>(configmaps).map(({ data }) => data),
    [{ 'ca.crt': 'another' }, { 'ca.crt': 'another' }],
  );
});

t.test('aggregated roles follow the selected roles', async (t) => {
  const harness = new Harness(t, [clusterroles]);
  const { api } = harness;
  const rule = (resource: string) => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });
  api.seed<ClusterRole>(clusterroles, {
    metadata: { name: 'all' },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { in: 'all' } }] },
    rules: [rule('stale')],
  });
  api.seed<ClusterRole>(clusterroles, {
    metadata: { name: 'b', labels: { in: 'all' } },
    rules: [rule('pods'), rule('nodes')],
  });
  api.seed<ClusterRole>(clusterroles, { metadata: { name: 'a', labels: { in: 'all' } }, rules: [rule('nodes')] });
  api.seed<ClusterRole>(clusterroles, { metadata: { name: 'c' }, rules: [rule('secrets')] });
  await harness.start(new ClusterRoleAggregationController(harness.context));
  t.same(api.get(clusterroles, 'all')?.rules, [rule('nodes'), rule('pods')]);
  api.remove(clusterroles, 'b');
  await harness.settled();
  t.same(api.get(clusterroles, 'all')?.rules, [rule('nodes')]);
});
