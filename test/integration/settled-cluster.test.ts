/** Nothing is accused in a cluster that has settled: every object is asked about. */
import t from 'tap';
import type { ApiObjectShape } from '#api/meta/object.js';
import { schemeFor } from '#api/scheme.js';
import { realClock } from '#apimachinery/clock.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { Answer } from '#insight/inquiry/finding.js';
import { startTestCluster } from '#testcluster/start-test-cluster.js';

interface Ready {
  readonly status?: { readonly readyReplicas?: number; readonly numberReady?: number };
}

t.test('a settled cluster has no cause of trouble', async (t) => {
  const started = await startTestCluster({ nodes: 2 });
  t.teardown(() => started.close());
  const { client } = started.cluster;
  const { dialect } = client;
  const post = (path: string, body: object) => client.request<ApiObjectShape>('POST', path, body);
  const apps = '/apis/apps/v1/namespaces/default';
  const selected = (app: string, more: object = {}) => ({
    selector: { matchLabels: { app } },
    template: { metadata: { labels: { app } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    ...more,
  });
  await post(`${apps}/deployments`, { metadata: { name: 'web' }, spec: selected('web', { replicas: 3 }) });
  await post(`${apps}/statefulsets`, {
    metadata: { name: 'db' },
    spec: selected('db', { replicas: 2, serviceName: 'db' }),
  });
  await post(`${apps}/daemonsets`, { metadata: { name: 'agent' }, spec: selected('agent') });
  await post('/api/v1/namespaces/default/services', {
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  });
  await post(`/apis/${dialect.apiVersion('policy', 'v1')}/namespaces/default/poddisruptionbudgets`, {
    metadata: { name: 'web' },
    spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'web' } } },
  });
  const until = async (path: string, isDone: (object: Ready) => boolean) => {
    while (!isDone(await client.request<Ready>('GET', path))) await realClock.sleep(20);
  };
  await until(`${apps}/deployments/web`, ({ status }) => status?.readyReplicas === 3);
  await until(`${apps}/statefulsets/db`, ({ status }) => status?.readyReplicas === 2);
  await until(`${apps}/daemonsets/agent`, ({ status }) => status?.numberReady === 2);
  await until(
    `/apis/${dialect.apiVersion('policy', 'v1')}/namespaces/default/poddisruptionbudgets/web`,
    (budget) => ((budget.status ?? {}) as { disruptionsAllowed?: number }).disruptionsAllowed === 1,
  );

  const accused: string[] = [];
  let count = 0;
  for (const { declaration } of schemeFor(dialect).resources) {
    const { group, version, resource, kind, verbs } = declaration;
    if (!verbs.includes('list') || !verbs.includes('get')) continue;
    const apiVersion = dialect.apiVersion(group, version);
    for (const { metadata } of await listed(`/${group === 'core' ? 'api' : 'apis'}/${apiVersion}/${resource}`)) {
      const { name = '', namespace } = metadata;
      const subject = { apiVersion, kind, ...(namespace === undefined ? {} : { namespace }), name };
      const { status } = await client.request<{ readonly status: Answer }>(
        'POST',
        `/apis/${dialect.insight.apiVersion}/whys`,
        { spec: { subject } },
      );
      count++;
      if (status.verdict === 'Stuck') accused.push(`${kind} ${namespace ?? ''}/${name}: ${status.summary}`);
    }
  }
  // The API server of a test listens on loopback, which pods do not reach.
  const loopback =
    'No API server has published an address that pods can reach: they listen on loopback, or do not run.';
  t.same(accused, [`Service default/${dialect.apiServiceName}: ${loopback}`]);
  t.ok(count >= 200, `${count} objects`);

  /** None of a version that is not served. */
  async function listed(path: string): Promise<readonly ApiObjectShape[]> {
    try {
      return (await client.request<{ readonly items?: ApiObjectShape[] | null }>('GET', path)).items ?? [];
    } catch (error) {
      if (statusOf(error)?.code === 404) return [];
      throw error;
    }
  }
});
