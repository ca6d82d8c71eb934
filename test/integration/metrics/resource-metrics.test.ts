/** Resource usage of nodes and pods on simulated nodes, through the metrics API and its clients. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { horizontalpodautoscalers } from '#api/autoscaling/v2/resources.gen.js';
import { pods as allPods } from '#api/core/v1/resources.gen.js';
import { nodes, pods } from '#api/metrics/v1beta1/resources.gen.js';
import { clusterroles } from '#api/rbac/v1/resources.gen.js';
import type { DialectName } from '#apimachinery/dialect.js';
import { parseDuration } from '#apimachinery/duration.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { milliValue, value } from '#apimachinery/quantity.js';
import { type Cluster, startCluster } from '#cluster/embedded/start-cluster.js';
import { eventually, kubectls, minorVersion, root, run } from '#test/e2e/harness.js';

const namespace = 'default';
const labels = { app: 'web' };

t.setTimeout(240_000);

for (const dialect of ['orch', 'kubernetes'] as const) {
  t.test(`${dialect} dialect`, { timeout: 240_000 }, async (t) => {
    const cluster = await startCluster({ dialect, nodes: 2, listen: true });
    t.teardown(() => cluster.close());
    const { client } = cluster;
    await eventually('both nodes have joined', async () => (await client.resource(nodes).list()).items.length === 2);
    const containers = ['main', 'side'].map((name) => ({
      name,
      image: 'web:1',
      resources: { requests: { cpu: '1m' } },
    }));
    await client.resource(deployments).create({
      metadata: { name: 'web', namespace },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers } },
      },
    });
    const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
    const resource = { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } };
    await client.resource(horizontalpodautoscalers).create({
      metadata: { name: 'web', namespace },
      spec: { scaleTargetRef: target, minReplicas: 2, maxReplicas: 2, metrics: [{ type: 'Resource', resource }] },
    });
    await eventually(
      'both pods were measured',
      async () => (await client.resource(pods).list({ namespace })).items.length === 2,
    );
    await t.test('objects', (t) => objects(t, cluster));
    await t.test('rights', (t) => rights(t, cluster));
    await t.test('clients', (t) => clients(t, cluster, dialect));
    await t.test('autoscalers', async (t) => {
      const usage = await eventually('it knows', async () => {
        const { status } = await client.resource(horizontalpodautoscalers).get('web', { namespace });
        return status?.currentMetrics?.[0]?.resource?.current;
      });
      t.ok((usage.averageUtilization ?? 0) > 0, `${usage.averageUtilization} %`);
    });
  });
}

async function objects(t: Test, { client, dialect }: Cluster): Promise<void> {
  const [pod] = (await client.resource(pods).list({ namespace, labelSelector: 'app=web' })).items;
  t.same(pod?.metadata.labels?.['app'], 'web');
  t.same(
    pod?.containers.map(({ name }) => name),
    ['main', 'side'],
  );
  for (const { usage } of pod?.containers ?? []) {
    t.ok(milliValue(usage['cpu'] ?? '') > 0, `${usage['cpu']} of the processor`);
    t.equal(usage['memory'], '1Mi');
  }
  t.ok(parseDuration(pod?.window ?? '') > 500, `measured over ${pod?.window}`);
  t.ok(Math.abs(Date.parse(pod?.timestamp ?? '') - Date.now()) < 60_000, 'now');
  t.match(await client.resource(pods).get(pod?.metadata.name ?? '', { namespace }), {
    kind: 'PodMetrics',
    apiVersion: `${dialect.metricsGroups.resource}/v1beta1`,
    metadata: { name: pod?.metadata.name ?? '', namespace },
  });
  t.same((await client.resource(pods).list({ namespace, labelSelector: 'app!=web' })).items, []);
  t.same((await client.resource(pods).list({ namespace: 'other' })).items, []);
  t.equal((await client.resource(pods).list()).items.length, 2, 'of all namespaces');
  const node = await client.resource(nodes).get('node-0');
  t.ok(value(node.usage['memory'] ?? '') >= 1024 ** 2, 'a node uses what its pods do, at the least');
  t.match(node.metadata.labels, { [dialect.labels.hostname]: 'node-0' });
  const path = `/apis/${dialect.metricsGroups.resource}/v1beta1`;
  const missing = { code: 404, message: `pods.${dialect.metricsGroups.resource} "none" not found` };
  t.match(await failure(client.resource(pods).get('none', { namespace })), missing);
  t.match(await failure(client.request('DELETE', `${path}/nodes/node-0`)), { code: 405 });
  t.match(await failure(client.request('GET', `${path}/nodes?watch=1`)), { code: 405 });
}

/** The Status of a failed request. */
async function failure(request: Promise<unknown>): Promise<unknown> {
  return request.then(
    () => undefined,
    (error: unknown) => statusOf(error),
  );
}

/** Users who may read pods may read their usage. */
async function rights(t: Test, { client, dialect }: Cluster): Promise<void> {
  const { rules } = await client.resource(clusterroles).get('system:aggregated-metrics-reader');
  // In the order of metrics-server's manifest, whose server-side apply conflicts otherwise.
  t.match(rules, [{ apiGroups: [dialect.metricsGroups.resource], resources: ['pods', 'nodes'] }]);
  await eventually('it is a part of what people get', async () => {
    const view = await client.resource(clusterroles).get('view');
    return view.rules?.some(({ apiGroups }) => apiGroups?.includes(dialect.metricsGroups.resource));
  });
}

async function clients(t: Test, cluster: Cluster, dialect: DialectName): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'top-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const config = join(folder, 'config');
  await writeFile(config, cluster.kubeconfig());
  const env = { KUBECONFIG: config, ORCHCONFIG: config, KUBECACHEDIR: folder, HOME: folder };
  const [some] = (await cluster.client.resource(allPods).list({ namespace, labelSelector: 'app=web' })).items;
  const name = some?.metadata.name ?? '';
  const ask = async (program: string, ...args: string[]) => {
    const { code, stdout, stderr } = await run(program, args, { env });
    t.equal(code, 0, `${program} ${args.join(' ')} ${stderr}`);
    return stdout;
  };
  // In the other dialect kubectl asks for a group that no server has.
  const others = dialect === 'kubernetes' ? await kubectls() : [];
  for (const program of [join(root, 'bin', 'orchctl'), ...others]) {
    t.match(
      await ask(program, 'top', 'nodes'),
      /^NAME +CPU\(cores\) +CPU\S* +MEMORY\(bytes\) +MEMORY\S*%\S*.*\nnode-0 +\d+m +0% +\d+Mi +0%/,
    );
    t.match(
      await ask(program, 'top', 'pod', name),
      new RegExp(`^NAME +CPU\\(cores\\) +MEMORY\\(bytes\\).*\\n${name} +\\d+m +2Mi`),
    );
  }
  const orchctl = join(root, 'bin', 'orchctl');
  t.match(
    await ask(orchctl, 'top', 'pods', '--containers', '-A', '--sort-by', 'memory'),
    /^NAMESPACE +POD +NAME.*\ndefault +web-\S+ +main +\d+m +1Mi\n/,
  );
  t.match(await ask(orchctl, 'top', 'pods', '-l', 'app=web', '--no-headers'), /^web-.*\nweb-.*\n$/);
  t.equal(await ask(orchctl, 'top', 'pods', '-l', 'app=none'), '');
  const group = cluster.dialect.metricsGroups.resource;
  t.match(await ask(orchctl, 'get', `nodes.${group}`), /^NAME +CPU +MEMORY +WINDOW\nnode-0 +\S+ +\d+Mi +\S+s\n/);
  t.match(await ask(orchctl, 'get', 'nodes'), /^NAME +STATUS/, 'short names are those of objects');
  t.match(await run(orchctl, ['top', 'services'], { env }), { code: 1, stderr: /orchctl top nodes/ });
  t.match(await run(orchctl, ['top', 'pods', '--sort-by', 'name'], { env }), {
    code: 1,
    stderr: /--sort-by must be cpu or memory/,
  });
  if (others.length === 0 && dialect === 'kubernetes') t.pass('kubectl top', { skip: 'no kubectl on this machine' });
  else if (others.length > 0) t.ok(await minorVersion(others[0] as string));
}
