/** `orch observe`: writes what Prometheus and Grafana need to watch a cluster of this machine, and grants Prometheus its rights. */

import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { stderr, stdout } from 'node:process';
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
import { helpText } from '#daemon/options/help.js';
import type { OptionTable } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';
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
    meaning: 'Where the files are written. Default: observe, in the data directory.',
  },
  cluster: {
    type: 'string',
    default: 'orch',
    section: 'Output',
    meaning: 'Label cluster of all series: tells clusters apart that one Prometheus watches.',
  },
  'scrape-interval': {
    type: 'duration',
    default: 30_000,
    min: 1000,
    section: 'Output',
    meaning: 'How often metrics are read and rules evaluated.',
  },
  runbooks: {
    type: 'string',
    default: 'docs/runbooks.md',
    section: 'Output',
    meaning: 'Where the runbooks are that alerts name: a path or a URL.',
  },
} as const satisfies OptionTable;

export async function observe(argv: readonly string[]): Promise<number> {
  const parsed = parseOptions(observeOptions, argv, { program });
  if (parsed.kind !== 'run') {
    const description = 'Write what Prometheus and Grafana need to watch a cluster of this machine.';
    stdout.write(helpText(observeOptions, { program, description }));
    return 0;
  }
  for (const warning of parsed.warnings) stderr.write(`Warning: ${warning}\n`);
  const { values } = parsed;
  const layout = layoutOf(resolve(values['data-dir']));
  const settings = readSettings(layout.settings);
  if (settings === undefined || settings.joined !== undefined)
    throw new SetupError(
      `${layout.root} holds no cluster: give the --data-dir of one, on a machine with its API server`,
    );
  const names = namesOf(dialectByName(settings.dialect));
  const found = await askCluster(layout, names);
  const folder = resolve(values['output-dir'] ?? join(layout.root, 'observe'));
  const { cluster, runbooks } = values;
  const at = (...path: string[]) => join(folder, ...path);
  const files = new Map([
    [at('targets', 'apiservers.json'), targetText(found.apiServers)],
    [at('targets', 'nodes.json'), targetText(found.nodes)],
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
    `${files.size} files written. Next:\n\n  prometheus --config.file ${config}\n\nand import ${at('dashboards')}/*.json into Grafana. Run this again after nodes came or went.\n`,
  );
  return 0;
}

/** Grants Prometheus its rights, and finds out where it is to read. Throws a SetupError where there is no certificate. */
async function askCluster(layout: Layout, { dialect }: Names): Promise<Discovered> {
  if (!existsSync(join(layout.pki, 'prometheus.crt')))
    throw new SetupError(
      `${layout.pki} has no certificate for Prometheus: stop the cluster and start it again, which makes one`,
    );
  const client = await adminClient(layout, { dialect: dialect.name }, { userAgent: program });
  try {
    await setUpMonitoringAccess(client);
    return await discover(client);
  } finally {
    await client.close();
  }
}

/** What is where in the data directory. */
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

interface Discovered {
  readonly apiServers: readonly TargetGroup[];
  readonly nodes: readonly TargetGroup[];
}

/** Where the API servers and the nodes of a cluster tell their metrics. */
async function discover(client: Client): Promise<Discovered> {
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

/** None for a node that has not said yet where it is. */
function nodeTargets({ metadata, status }: Node): TargetGroup[] {
  const address = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  if (address === undefined || port === 0) return [];
  return [{ targets: [hostPort(address, port)], labels: { node: metadata.name ?? '' } }];
}
