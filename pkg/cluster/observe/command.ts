/** `orch observe`: writes configuration of Prometheus and Grafana for a cluster of this machine, and grants Prometheus its rights. */

import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { stdout } from 'node:process';
import { endpoints, nodes } from '#api/core/v1/resources.gen.js';
import type { Endpoints, Node } from '#api/core/v1/types.gen.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import type { Client } from '#client/client.js';
import { adminClient } from '#cluster/clients/api-clients.js';
import { type Layout, layoutOf } from '#cluster/config/layout.js';
import { dataDir } from '#cluster/config/options.js';
import { readSettings } from '#cluster/config/settings.js';
import { setUpMonitoringAccess } from '#cluster/objects/monitoring-access.js';
import { type TargetGroup, targetFile, targetText } from '#cluster/observe/targets.js';
import { replaceFile } from '#cluster/process/replace-file.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { commandOptions } from '#cluster/terminal/subcommand.js';
import type { OptionTable } from '#daemon/options/option.js';
import { dashboards } from '#observe/dashboards/dashboards.js';
import { dashboardText, grafanaDashboard } from '#observe/dashboards/grafana.js';
import { type Names, namesOf } from '#observe/names.js';
import { ruleFile } from '#observe/rules/rules.js';
import { prometheusConfig, type ScrapeOptions, type TargetFiles } from '#observe/scrape.js';
import { yamlText } from '#observe/yaml.js';

const program = 'orch observe';

const observeOptions = {
  ...dataDir,
  'output-dir': {
    type: 'string',
    section: 'Output',
    meaning: 'Folder of the files. Default: observe in the data directory.',
  },
  cluster: {
    type: 'string',
    default: 'orch',
    section: 'Output',
    meaning: 'Label cluster of all series, for a Prometheus that watches several clusters.',
  },
  'scrape-interval': {
    type: 'duration',
    default: 30_000,
    min: 1000,
    section: 'Output',
    meaning: 'Interval of scrapes and of rule evaluation.',
  },
  runbooks: {
    type: 'string',
    default: 'docs/runbooks.md',
    section: 'Output',
    meaning: 'Path or URL of the runbooks to which alerts link.',
  },
} as const satisfies OptionTable;

export async function observe(argv: readonly string[]): Promise<number> {
  const description = 'Write the configuration of Prometheus and Grafana for a cluster of this machine.';
  const parsed = commandOptions(observeOptions, argv, { program, description });
  if (parsed === undefined) return 0;
  const { values } = parsed;
  const layout = layoutOf(resolve(values['data-dir']));
  const settings = readSettings(layout.settings);
  if (settings === undefined || settings.joined !== undefined)
    throw new SetupError(
      `${layout.root} holds no cluster: give the --data-dir of one, on a machine with its API server`,
    );
  const names = namesOf(dialectByName(settings.dialect));
  const targets = await discoverTargets(layout, names);
  const folder = resolve(values['output-dir'] ?? join(layout.root, 'observe'));
  const { cluster, runbooks } = values;
  const at = (...path: string[]) => join(folder, ...path);
  const files = new Map([
    [at('targets', 'apiservers.json'), targetText(targets.apiServers)],
    [at('targets', 'nodes.json'), targetText(targets.nodes)],
    [at('rules.yml'), yamlText(ruleFile(names, { cluster, runbooks }))],
  ]);
  for (const each of dashboards(names)) {
    const text = dashboardText(grafanaDashboard(each, names.dialect.product));
    files.set(at('dashboards', `${each.uid}.json`), text);
  }
  const config = at('prometheus.yml');
  const scrape = scrapeOptions(layout, names, {
    apiServers: at('targets', 'apiservers.json'),
    nodes: at('targets', 'nodes.json'),
  });
  files.set(
    config,
    yamlText(
      prometheusConfig(names, {
        ...scrape,
        cluster,
        rules: [at('rules.yml')],
        interval: `${values['scrape-interval']}ms`,
      }),
    ),
  );
  for (const [path, text] of files) {
    mkdirSync(dirname(path), { recursive: true });
    replaceFile(path, text);
  }
  stdout.write(
    `${files.size} files written. Next:\n\n  prometheus --config.file ${config}\n\nand import ${at('dashboards')}/*.json into Grafana. Run this again after adding or removing nodes.\n`,
  );
  return 0;
}

/** Grants Prometheus its rights and discovers its targets. Rejects with a SetupError without a certificate for it. */
async function discoverTargets(layout: Layout, { dialect }: Names): Promise<ClusterTargets> {
  if (!existsSync(join(layout.pki, 'prometheus.crt')))
    throw new SetupError(`${layout.pki} has no certificate for Prometheus; restart the cluster, which creates one`);
  const client = await adminClient(layout, { dialect: dialect.name }, { userAgent: program });
  try {
    await setUpMonitoringAccess(client);
    return await discover(client);
  } finally {
    await client.close();
  }
}

/** Paths of certificates and target files in the data directory. */
function scrapeOptions(
  layout: Layout,
  { dialect, jobs }: Names,
  discovered: Pick<TargetFiles, 'apiServers' | 'nodes'>,
): Pick<ScrapeOptions, 'serverName' | 'credentials' | 'targets' | 'loopAuthorities'> {
  const at = (...path: string[]) => join(layout.pki, ...path);
  return {
    serverName: `${dialect.apiServiceName}.${dialect.namespaces.default}.svc`,
    credentials: { ca: at('ca.crt'), certificate: at('prometheus.crt'), key: at('prometheus.key') },
    targets: {
      ...discovered,
      etcd: targetFile(layout, 'etcd'),
      controllerManager: targetFile(layout, 'controller-manager'),
      scheduler: targetFile(layout, 'scheduler'),
      ingress: targetFile(layout, 'ingress'),
    },
    ...(existsSync(targetFile(layout, 'scheduler'))
      ? {
          loopAuthorities: {
            controllerManager: at('controller-manager', `${jobs.controllerManager}.crt`),
            scheduler: at('scheduler', `${jobs.scheduler}.crt`),
          },
        }
      : {}),
  };
}

interface ClusterTargets {
  readonly apiServers: readonly TargetGroup[];
  readonly nodes: readonly TargetGroup[];
}

/** Addresses of the metrics of API servers and nodes. */
async function discover(client: Client): Promise<ClusterTargets> {
  const { apiServiceName, namespaces } = client.dialect;
  const servers = await client.resource(endpoints).get(apiServiceName, { namespace: namespaces.default });
  const { items } = await client.resource(nodes).list();
  return { apiServers: serverTargets(servers), nodes: items.flatMap(nodeTargets) };
}

function serverTargets({ subsets = [] }: Endpoints): TargetGroup[] {
  return subsets.map(({ addresses = [], ports = [] }) => ({
    targets: addresses.flatMap(({ ip = '' }) => ports.map(({ port }) => hostPort(ip, port))),
  }));
}

/** Empty for a node that has not reported its address yet. */
function nodeTargets({ metadata, status }: Node): TargetGroup[] {
  const address = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  if (address === undefined || port === 0) return [];
  return [{ targets: [hostPort(address, port)], labels: { node: metadata.name ?? '' } }];
}
