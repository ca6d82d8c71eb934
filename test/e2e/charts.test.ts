/**
 * Typical third-party charts with a real helm: ordered hooks, definitions with objects of their kinds, look-ups, notes, tests,
 * and an upgrade that fails and is rolled back. Also the objects that the chart of this project has for Prometheus' operator.
 * Nodes are simulated, since only objects matter here.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { parseAllDocuments } from 'yaml';
import { realClock } from '#apimachinery/clock.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { helm, noHelm } from '#test/e2e/chart/rendered.js';
import { eventually, root, run } from '#test/e2e/harness.js';
import { operatorDefinitions } from '#test/e2e/observing/operator.js';
import { usualChart } from '#test/e2e/testdata/usual-chart.js';

t.setTimeout(120_000);

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const monitoring = '/apis/monitoring.coreos.com/v1';

t.test('charts', { skip: noHelm ?? false }, async (t) => {
  const work = t.testdir();
  const cluster = await startCluster({ dialect: 'kubernetes', listen: true });
  t.teardown(() => cluster.close());
  const config = join(work, 'client.config');
  writeFileSync(config, cluster.kubeconfig());
  const env = {
    ...{ KUBECONFIG: config, ORCHCONFIG: config },
    ...{ HELM_CACHE_HOME: work, HELM_CONFIG_HOME: work, HELM_DATA_HOME: work },
  };
  const asks = (...args: string[]) => run(helm ?? '', args, { env, timeoutMs: 60_000 });
  const does = async (...args: string[]) => {
    const { code, stdout, stderr } = await asks(...args);
    if (code !== 0) throw new Error(`helm ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  const transport = new HttpTransport({ ...(await loadKubeconfig(config, { clock: realClock })), clock: realClock });
  t.teardown(() => transport.close());
  /** Undefined if the object does not exist. */
  const get = async (path: string): Promise<Shown | undefined> => {
    const headers = { accept: 'application/json' };
    const { body, status } = await transport.request({ method: 'GET', path, headers });
    const parts: Buffer[] = [];
    for await (const part of body) parts.push(part);
    return status === 200 ? (JSON.parse(Buffer.concat(parts).toString()) as Shown) : undefined;
  };
  const own = (resource: string, api = '/api/v1') => get(`${api}/namespaces/default/${resource}`);

  await t.test('a chart with the common features of charts', async (t) => {
    const chart = join(work, 'usual');
    for (const [path, text] of Object.entries(usualChart)) {
      mkdirSync(dirname(join(chart, path)), { recursive: true });
      writeFileSync(join(chart, path), text);
    }
    const installed = await does('install', 'app', chart, '--wait', '--timeout', '40s');
    t.match(installed, 'NOTES:\nSay hello to app, of which there are 2.');
    t.notOk(await own('jobs/app-before', '/apis/batch/v1'), 'a hook that has succeeded is gone, as it asks');
    const order = (await own('configmaps/app-order'))?.data;
    t.ok(order, 'what a hook has made stays where no policy says otherwise');
    const widget = await own('widgets/app', '/apis/example.com/v1');
    t.same(widget?.spec, { text: 'hello', count: 2 }, 'an object of a kind that the chart defines, with a default');
    const password = (await own('secrets/app'))?.data?.['password'];
    t.match(password, /^[A-Za-z0-9+/]{20,}=*$/);
    t.ok(
      await own('poddisruptionbudgets/app', '/apis/policy/v1'),
      'made where the cluster says that it serves the version',
    );
    t.match(await does('test', 'app', '--timeout', '30s'), 'Phase:          Succeeded');

    const upgraded = await does('upgrade', 'app', chart, '--set', 'replicas=3', '--wait', '--timeout', '40s');
    t.match(upgraded, 'of which there are 3.');
    t.match(upgraded, /It is reached at (\d+\.){3}\d+\./, 'a look-up finds what the release has made before');
    t.equal((await own('secrets/app'))?.data?.['password'], password, 'by a look-up it keeps its password');

    const failing = await asks('upgrade', 'app', chart, '--set', 'fails=true', '--atomic', '--timeout', '20s');
    t.not(failing.code, 0);
    t.match(failing.stderr, /rolled back/);
    t.equal((await own('deployments/app', '/apis/apps/v1'))?.spec?.['replicas'], 3, 'as it was before');

    await does('uninstall', 'app', '--wait', '--timeout', '30s');
    t.notOk(await own('deployments/app', '/apis/apps/v1'));
    t.ok(await own('configmaps/app-kept'), 'kept, as it asks');
    t.ok(await get(`${definitions}/widgets.example.com`), 'definitions stay');
  });

  await t.test('objects for Prometheus’ operator', async (t) => {
    const { text, source } = operatorDefinitions(['servicemonitors', 'prometheusrules']);
    t.comment(`definitions: ${source}`);
    const file = join(work, 'definitions.yaml');
    writeFileSync(file, text);
    const applied = await run(join(root, 'bin', 'orchctl'), ['apply', '-f', file], { env });
    t.equal(applied.code, 0, applied.stderr);
    for (const name of ['servicemonitors', 'prometheusrules'])
      await eventually(`${name} are served`, async () => (await own(name, monitoring)) !== undefined);
    const set = ['serviceMonitor', 'rules', 'dashboards'].flatMap((part) => ['--set', `metrics.${part}.enabled=true`]);
    const chart = join(root, 'charts', 'orch');
    // Its pods have no images here.
    const installing = ['install', 'orch', chart, '--no-hooks', '--output', 'json', ...set];
    const { manifest } = JSON.parse(await does(...installing)) as { manifest: string };
    const rendered = parseAllDocuments(manifest).map((each) => each.toJS() as Shown | null);
    const monitors = rendered.filter((each) => each?.kind === 'ServiceMonitor' || each?.kind === 'PrometheusRule');
    t.equal(monitors.length, 5);
    for (const each of monitors) {
      const { kind = '', metadata, spec } = each ?? {};
      const stored = await own(`${kind.toLowerCase()}s/${metadata?.name}`, monitoring);
      // The stored spec may have defaults in addition.
      t.match(stored?.spec, spec, `${kind} ${metadata?.name}: no field is unknown`);
    }
    t.ok(await own('configmaps/orch-dashboard-cluster'));
  });
});

interface Shown {
  readonly kind?: string;
  readonly metadata?: { readonly name?: string };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
}
