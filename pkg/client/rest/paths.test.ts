import t from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { namespaces, nodes, pods } from '#api/core/v1/resources.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { queryString, resourcePath } from '#client/rest/paths.js';

t.test('builds paths', async (t) => {
  const rows: [string, string][] = [
    [resourcePath(orchDialect, pods, {}), '/api/v1/pods'],
    [resourcePath(orchDialect, pods, { namespace: 'a' }), '/api/v1/namespaces/a/pods'],
    [
      resourcePath(orchDialect, pods, { namespace: 'a', name: 'b', subresource: 'status' }),
      '/api/v1/namespaces/a/pods/b/status',
    ],
    [resourcePath(orchDialect, nodes, { namespace: 'ignored', name: 'n' }), '/api/v1/nodes/n'],
    [resourcePath(orchDialect, nodes, { name: 'n', subresource: 'proxy/metrics' }), '/api/v1/nodes/n/proxy/metrics'],
    [resourcePath(orchDialect, namespaces, { name: 'n' }), '/api/v1/namespaces/n'],
    [resourcePath(orchDialect, deployments, { namespace: 'a' }), '/apis/apps/v1/namespaces/a/deployments'],
    [resourcePath(kubernetesDialect, leases, {}), '/apis/coordination.k8s.io/v1/leases'],
    [
      resourcePath(orchDialect, leases, { namespace: 'a', name: 'x:y' }),
      '/apis/coordination.orch.io/v1/namespaces/a/leases/x%3Ay',
    ],
  ];
  for (const [path, expected] of rows) t.equal(path, expected);
  for (const name of ['', '.', '..', 'a/b', 'a%2fb']) {
    t.throws(() => resourcePath(orchDialect, nodes, { name }), /invalid resource name/, JSON.stringify(name));
  }
  t.throws(() => resourcePath(orchDialect, pods, { name: 'a' }), /empty namespace/);
});

t.test('builds queries', async (t) => {
  t.equal(queryString({ a: undefined, b: '', c: false }), '');
  t.equal(
    queryString({ limit: 5, watch: true, labelSelector: 'a in (b,c)' }),
    '?limit=5&watch=true&labelSelector=a+in+%28b%2Cc%29',
  );
});
