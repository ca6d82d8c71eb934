/** `/metrics` of every daemon has the metrics of its counterpart in release 1.24, and passes Prometheus's own tool. */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { jobs } from '#api/batch/v1/resources.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { simulatedEndpoint } from '#nodeagent/simulated/node.js';
import { freePort } from '#test/free-port.js';
import { type DaemonTest, startApi, until } from '#test/integration/daemons/api.js';
import { exposition } from '#test/integration/metrics/exposition.js';
import { faults, promtool } from '#test/integration/metrics/faults.js';
import { readMetrics } from '#test/integration/metrics/read-metrics.js';
import {
  apiServerMetrics,
  controllerManagerMetrics,
  leftOut,
  nodeAgentMetrics,
  type ReleaseMetric,
  schedulerMetrics,
} from '#test/integration/metrics/release-metrics.js';

t.setTimeout(120_000);

const noTool = 'promtool is not installed';

t.test('promtool finds fault where there is any', { skip: promtool === undefined ? noTool : false }, async (t) => {
  t.match(await faults(promtool ?? '', '# HELP x X\n# TYPE x counter\nx 1\n'), /_total/);
});

function fullName(name: string): string {
  if (name.startsWith('_')) return `${dialect.components.nodeAgent}${name}`;
  return name.replace('*', dialect.product);
}

function check(t: Test, text: string, expected: readonly ReleaseMetric[]): void {
  const families = exposition(text);
  for (const { name, type, stability, labels } of expected) {
    const family = families.get(fullName(name));
    t.equal(family?.type, type, name);
    const prefix = /^\[(\w+)\] /.exec(family?.help ?? '')?.[1] ?? '-';
    t.equal(prefix, stability, `${name}: stability`);
    // Series without labels exist from the start; others after their first event.
    if (labels.length === 0 || (family?.series ?? 0) > 0) t.same(family?.labels, labels, `${name}: labels`);
  }
  for (const [beginning, why] of Object.entries(leftOut)) {
    const name = fullName(beginning);
    t.same(
      [...families.keys()].filter((family) => family.startsWith(name)),
      [],
      `${beginning}: ${why}`,
    );
  }
  for (const [name, { help }] of families) {
    if (!help.startsWith('[')) continue;
    t.ok(
      expected.some((metric) => fullName(metric.name) === name),
      `${name}: says that it is of the release`,
    );
  }
}

/** Gives controllers work to count: a job whose pod ends, although no scheduler assigned it to a node. */
async function finishesJob(client: DaemonTest['client']): Promise<void> {
  const where = { namespace: 'default' };
  const spec = { schedulerName: 'absent', restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] };
  await client.resource(jobs).create({ metadata: { name: 'j', ...where }, spec: { template: { spec } } });
  await until('the job has a pod that ended', async () => {
    const [pod] = (await client.resource(pods).list({ ...where, labelSelector: 'job-name=j' })).items;
    const status = { phase: 'Succeeded' };
    const options = { ...where, type: 'merge', subresource: 'status' } as const;
    await client.resource(pods).patch(pod?.metadata.name ?? '', { status }, options);
    return true;
  });
  await until('the job is complete', async () => {
    const { status } = await client.resource(jobs).get('j', where);
    return status?.completionTime !== undefined;
  });
}

t.test('the metrics of every daemon', async (t) => {
  const {
    config,
    folder,
    port: apiPort,
    start,
    client,
  } = await startApi(t, {
    dialect,
    args: ['--disable-admission-plugins=ServiceAccount'],
  });
  const loop = async (name: string, ...more: string[]) => {
    const port = await freePort();
    start(name, [
      `--orchconfig=${config}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      '--authorization-always-allow-paths=/metrics,/configz',
      ...more,
    ]);
    return port;
  };
  const agentPort = await freePort();
  start('nodeagent', [
    `--kubeconfig=${config}`,
    `--container-runtime-endpoint=${simulatedEndpoint}`,
    '--address=127.0.0.1',
    '--hostname-override=node-1',
    `--port=${agentPort}`,
    '--healthz-port=0',
    '--read-only-port=0',
    `--root-dir=${join(folder, 'node')}`,
    `--cert-dir=${join(folder, 'node-pki')}`,
    '--authorization-mode=AlwaysAllow',
  ]);
  const managerPort = await loop('orch-controller-manager', '--allocate-node-cidrs', '--cluster-cidr=10.244.0.0/16');
  const schedulerPort = await loop('orch-scheduler');
  await until('a pod runs', async () => {
    const namespace = 'default';
    const [pod] = (await client.resource(pods).list({ namespace })).items;
    const spec = { nodeName: 'node-1', containers: [{ name: 'c', image: 'docker.io/test/app:1' }] };
    if (pod === undefined) {
      await client.resource(pods).create({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace }, spec });
    }
    return pod?.status?.phase === 'Running';
  });
  await finishesJob(client);
  const rows = [
    { daemon: 'API server', port: apiPort, expected: apiServerMetrics },
    { daemon: 'controller manager', port: managerPort, expected: controllerManagerMetrics },
    { daemon: 'scheduler', port: schedulerPort, expected: schedulerMetrics },
    { daemon: 'node agent', port: agentPort, expected: nodeAgentMetrics },
  ];
  for (const { daemon, port, expected } of rows) {
    await t.test(daemon, async (t) => {
      const headers = daemon === 'API server' ? { authorization: 'Bearer root' } : {};
      let text = '';
      await until(`metrics of the ${daemon}`, async () => {
        const answer = await readMetrics(port, '/metrics', headers);
        text = answer.text;
        return answer.status === 200 && (daemon === 'API server' || text.includes('reflector_lists_total{'));
      });
      check(t, text, expected);
      if (promtool !== undefined) t.equal(await faults(promtool, text), '', 'what promtool finds');
    });
  }
  await t.test('other pages of the node agent', { skip: promtool === undefined ? noTool : false }, async (t) => {
    for (const page of ['cadvisor', 'resource', 'probes', 'state']) {
      const { status, text } = await readMetrics(agentPort, `/metrics/${page}`);
      t.equal(status, 200, page);
      t.equal(await faults(promtool ?? '', text), '', page);
    }
  });
  await t.test('the configuration in force', async (t) => {
    const { text } = await readMetrics(schedulerPort, '/configz');
    t.match(JSON.parse(text), { componentconfig: { leaderElection: { leaderElect: true } } });
  });
});
