/**
 * A real Prometheus monitors a control plane of the chart. Its configuration comes from the chart's ServiceMonitors and
 * PrometheusRule, as from Prometheus' operator, and it runs in the network of a pod, where network policies apply to it.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import type { Test } from 'tap';
import { stringify } from 'yaml';
import { configmaps, namespaces, secrets, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Client } from '#client/client.js';
import { Answers, type Target } from '#test/e2e/alerts/answers.js';
import { eventually, httpBody, Running, run, type TestCluster } from '#test/e2e/harness.js';
import { keepBusy } from '#test/e2e/observing/busy.js';
import { dashboardQueries, untilAnswered } from '#test/e2e/observing/dashboards.js';
import { discover } from '#test/e2e/observing/discovery.js';
import { askOperator, hasOperator } from '#test/e2e/observing/operator.js';
import { type PodNetwork, podNetwork, reaches } from '#test/e2e/observing/pod-network.js';
import {
  assetKeys,
  assetsFolder,
  type ScrapeConfig,
  type ServiceMonitor,
  scrapeConfigs,
} from '#test/e2e/observing/service-monitors.js';
import { faults } from '#test/integration/metrics/faults.js';
import { prometheusProgram } from '#test/prometheus.js';

const prometheus = prometheusProgram('prometheus') ?? '';
const promtool = prometheusProgram('promtool') ?? '';

/** Namespace and label `app` of Prometheus in docs/observe.md. */
const monitoring = { namespace: 'monitoring', app: 'prometheus' } as const;

export interface Monitored {
  /** The cluster with the chart, including its objects for Prometheus and Grafana. */
  readonly cluster: TestCluster;
  readonly host: Client;
  /** The control plane of the chart. */
  readonly hosted: Client;
  /** Value of the label `cluster`. */
  readonly name: string;
  /** Expected number of targets, by job. */
  readonly targets: Readonly<Record<string, number>>;
  /** An existing folder. */
  readonly work: string;
}

interface Rules {
  readonly spec: { readonly groups: readonly { readonly rules: readonly { readonly record?: string }[] }[] };
}

export async function monitored(t: Test, options: Monitored): Promise<void> {
  const { host, hosted, name, targets: expected } = options;
  await host.resource(namespaces).create({ metadata: { name: monitoring.namespace }, spec: {} });
  const network = await podNetwork(host, monitoring.app, monitoring.namespace);
  const stranger = await podNetwork(host, 'stranger', monitoring.namespace);
  const [rules] = await items<Rules>(options.cluster, 'prometheusrules');
  const answers = await startPrometheus(t, options, network, rules);

  const targets = await eventually('all targets are there and answer', async () => {
    const active = await answers.targets();
    const wrong = active.filter(({ health }) => health !== 'up');
    if (wrong.length > 0) throw new Error(JSON.stringify(wrong));
    const counts: Record<string, number> = {};
    for (const { labels } of active) counts[labels['job'] ?? ''] = (counts[labels['job'] ?? ''] ?? 0) + 1;
    if (JSON.stringify(Object.entries(counts).sort()) !== JSON.stringify(Object.entries(expected).sort()))
      throw new Error(JSON.stringify(counts));
    return active;
  });

  // Every client reaches API servers.
  const closed = targets
    .filter(({ labels }) => labels['job'] !== 'apiserver')
    .map((each) => new URL(each.scrapeUrl).host);
  const tried = [...new Set(closed)].map(async (address) => ({ address, reached: await reaches(stranger, address) }));
  t.same(
    (await Promise.all(tried)).filter(({ reached }) => reached),
    [],
    'a stranger cannot read metrics',
  );
  // The metrics of etcd are not ours.
  for (const target of targets.filter(({ labels }) => labels['job'] !== 'etcd'))
    t.equal(await faults(promtool, await metricsOf(target, options)), '', `what ${target.scrapeUrl} tells`);

  const busy = { namespace: 'observed', image: 'orch/web:1.0' };
  await hosted.resource(namespaces).create({ metadata: { name: busy.namespace }, spec: {} });
  const account = () => hosted.resource(serviceaccounts).get('default', { namespace: busy.namespace });
  await eventually('the namespace has its account', async () => (await account()) !== undefined);
  await keepBusy(hosted, busy);
  const { items: dashboards } = await host.resource(configmaps).list({ labelSelector: 'grafana_dashboard=1' });
  const queries = dashboardQueries(
    dashboards.flatMap(({ data = {} }) => Object.values(data)),
    name,
  );
  t.ok(queries.size > 80);
  for (const group of rules?.spec.groups ?? [])
    for (const { record } of group.rules) if (record !== undefined) queries.set(`rules: ${record}`, record);
  await untilAnswered(queries, { answers, client: hosted, ...busy });
  await eventually('alerts say what is wrong, and no more', async () => {
    const evaluated = await answers.rules();
    const failed = evaluated.filter(({ health }) => health !== 'ok');
    if (failed.length > 0) throw new Error(JSON.stringify(failed));
    const active = evaluated.filter(({ state }) => state === 'pending' || state === 'firing').map((rule) => rule.name);
    if (active.some((each) => /Down$/.test(each))) throw new Error(active.join(', '));
    return active.includes('OrchPodCrashLooping') && active.includes('OrchPodsUnschedulable');
  });
  t.same(await answers.query('{exported_namespace!=""}'), [], 'labels of series stay as they are');
  await hosted.resource(namespaces).delete(busy.namespace);
}

async function startPrometheus(
  t: Test,
  options: Monitored,
  { ip, enter: [command, where] }: PodNetwork,
  rules: Rules | undefined,
): Promise<Answers> {
  const folder = join(options.work, 'prometheus');
  mkdirSync(folder);
  const ruleFile = join(folder, 'rules.yml');
  writeFileSync(ruleFile, stringify(rules?.spec));
  const config = await writeConfig(t, options, { folder, ruleFile });
  for (const [what, file] of [
    ['rules', ruleFile],
    ['config', config],
  ] as const) {
    const checked = await run(promtool, ['check', what, file]);
    t.equal(checked.code, 0, checked.stdout + checked.stderr);
  }
  const data = `--storage.tsdb.path=${join(folder, 'data')}`;
  const listen = `--web.listen-address=${ip}:9090`;
  const server = new Running(command, [where, prometheus, `--config.file=${config}`, data, listen], {});
  t.teardown(() => server.stop());
  const answers = new Answers(`${ip}:9090`);
  await eventually('Prometheus answers', async () => (await answers.targets()).length > 0).catch((error: unknown) => {
    throw new Error(server.stderr.slice(-4000), { cause: error });
  });
  return answers;
}

/** Path of the configuration. */
async function writeConfig(
  t: Test,
  { cluster, host }: Monitored,
  { folder, ruleFile }: { readonly folder: string; readonly ruleFile: string },
): Promise<string> {
  const monitors = await items<ServiceMonitor>(cluster, 'servicemonitors');
  const translated = scrapeConfigs(monitors);
  const assets: Record<string, string> = {};
  for (const { namespace, name, key, file } of assetKeys(monitors)) {
    const { data } = await host.resource(secrets).get(name, { namespace });
    assets[file] = Buffer.from(data?.[key] ?? '', 'base64').toString();
  }
  if (hasOperator) {
    const operated = await askOperator({ cluster, host, namespace: monitoring.namespace, jobs: translated.length });
    t.same(translated, operated.scrapeConfigs, 'the operator makes the same of the monitors');
    t.match(operated.assets, assets);
  }
  const certificates = join(folder, 'certs');
  mkdirSync(certificates);
  for (const [file, text] of Object.entries(assets)) writeFileSync(join(certificates, file), text, { mode: 0o600 });
  const scrape_configs = await Promise.all(
    translated.map((each, index) => withFiles(host, each, join(folder, `${index}.json`))),
  );
  const interval = '1s';
  const text = stringify({
    global: { scrape_interval: interval, evaluation_interval: interval },
    ...{ rule_files: [ruleFile], scrape_configs },
  });
  const config = join(folder, 'prometheus.yml');
  // One shard, number 0; the operator's side-car sets this variable.
  writeFileSync(config, text.replaceAll(assetsFolder, certificates).replaceAll('$(SHARD)', '0'));
  return config;
}

/** The scrape configuration with addresses from a file instead of the API. */
async function withFiles(host: Client, config: ScrapeConfig, file: string): Promise<object> {
  const { kubernetes_sd_configs: discovered, ...rest } = config;
  const groups = await Promise.all(discovered.map((each) => discover(host, each)));
  writeFileSync(file, JSON.stringify(groups.flat()));
  return { ...rest, file_sd_configs: [{ files: [file] }] };
}

async function items<T>(cluster: TestCluster, resource: string): Promise<readonly T[]> {
  const { stdout, stderr, code } = await cluster.ctl('get', resource, '--all-namespaces', '--output=json');
  if (code !== 0) throw new Error(stderr);
  return (JSON.parse(stdout) as { items: readonly T[] }).items;
}

/** The response that Prometheus gets from the target. */
async function metricsOf({ scrapeUrl }: Target, { host }: Monitored): Promise<string> {
  if (scrapeUrl.startsWith('http:')) return httpBody(scrapeUrl);
  const { data = {} } = await host.resource(secrets).get('orch-metrics', { namespace: 'default' });
  const file = (name: string) => Buffer.from(data[name] ?? '', 'base64');
  const tls = { cert: file('client.crt'), key: file('client.key'), rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    const scrape = request(scrapeUrl, { ...tls, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => resolve(Buffer.concat(parts).toString()));
      response.on('error', reject);
    });
    scrape.on('error', reject);
    scrape.end();
  });
}
