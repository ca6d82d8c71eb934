/** Prometheus' operator itself, where `hack/build-operators.sh prometheus-operator` has built it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { secrets } from '#api/core/v1/resources.gen.js';
import type { Client } from '#client/client.js';
import { eventually, Running, root, type TestCluster, tools } from '#test/e2e/harness.js';
import type { ScrapeConfig } from '#test/e2e/observing/service-monitors.js';
import { monitoringDefinitions } from '#test/e2e/testdata/monitoring-definitions.js';
import { freePort } from '#test/free-port.js';

const folder = join(tools, 'operators', 'prometheus-operator');
const program = join(folder, 'bin', 'operator');

export const hasOperator = existsSync(program);

/** Published definitions of the operator, of these kinds or all; without the operator the fields that the chart uses. */
export function operatorDefinitions(kinds?: readonly string[]): { readonly text: string; readonly source: string } {
  const manifests = join(folder, 'manifests');
  if (!existsSync(manifests)) return { text: monitoringDefinitions, source: 'written for this test' };
  const files = readdirSync(manifests).filter((file) =>
    kinds === undefined ? file.startsWith('monitoring') : kinds.some((kind) => file.endsWith(`_${kind}.yaml`)),
  );
  return { text: files.map((file) => readFileSync(join(manifests, file), 'utf8')).join('\n---\n'), source: manifests };
}

export interface Made {
  readonly scrapeConfigs: readonly ScrapeConfig[];
  /** Files of Secrets, by name. */
  readonly assets: Readonly<Record<string, string>>;
}

export interface AskOptions {
  readonly cluster: TestCluster;
  readonly host: Client;
  readonly namespace: string;
  /** Expected number of scrape configurations. */
  readonly jobs: number;
}

/** The configuration that the operator generates from all ServiceMonitors, for a Prometheus in that namespace. */
export async function askOperator({ cluster, host, namespace, jobs }: AskOptions): Promise<Made> {
  const prometheus = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'Prometheus',
    metadata: { name: 'main', namespace },
    // No pods: the test needs only the configuration.
    spec: { replicas: 0, version: 'v2.42.0', serviceMonitorSelector: {}, serviceMonitorNamespaceSelector: {} },
  };
  await apply(cluster, JSON.stringify(prometheus));
  const operator = new Running(program, [`--web.listen-address=127.0.0.1:${await freePort()}`], {
    KUBECONFIG: cluster.config,
  });
  try {
    return await eventually('the operator has made a configuration', async () => {
      const secret = await host.resource(secrets).get('prometheus-main', { namespace });
      const text = gunzipSync(Buffer.from(secret.data?.['prometheus.yaml.gz'] ?? '', 'base64')).toString();
      const { scrape_configs: scrapeConfigs } = parse(text) as { scrape_configs: readonly ScrapeConfig[] };
      if (scrapeConfigs.length !== jobs) return undefined;
      const files = await host.resource(secrets).get('prometheus-main-tls-assets-0', { namespace });
      const assets = Object.entries(files.data ?? {}).map(([name, data]) => [
        name,
        Buffer.from(data, 'base64').toString(),
      ]);
      return { scrapeConfigs, assets: Object.fromEntries(assets) as Record<string, string> };
    });
  } catch (error) {
    throw new Error(operator.stderr.slice(-4000), { cause: error });
  } finally {
    await operator.stop();
  }
}

/** Applies the objects in the text, YAML or JSON. */
export async function apply(cluster: TestCluster, text: string): Promise<void> {
  const orchctl = join(root, 'bin', 'orchctl');
  const applied = await cluster.client(orchctl, ['apply', '-f', '-'], { input: text });
  if (applied.code !== 0) throw new Error(applied.stderr);
}
