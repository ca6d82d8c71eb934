/** The client of node agents, and the metrics API, which reads from them. */
import { Agent } from 'node:https';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import { nodes as nodeMetrics, pods as podMetrics } from '#api/metrics/v1beta1/resources.gen.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import {
  type MetricsSources,
  NodeMetricsStorage,
  PodMetricsStorage,
} from '#apiserver/resourcemetrics/metrics-storage.js';
import { Scraper } from '#apiserver/resourcemetrics/scraper.js';
import type { ResourceStorages } from '#apiserver/resources/storages.js';
import { openRequest } from '#apiserver/streaming/http-proxy.js';
import { NodeAgents, type NodeAgentsOptions } from '#apiserver/streaming/node-agents.js';
import { readAll } from '#client/rest/response.js';
import { holdCertificate } from '#daemon/certificates/expirations.js';
import { textOf } from '#daemon/certificates/followed-file.js';
import { FileTls } from '#http/client/credentials.js';
import { DialedHttpsAgent } from '#http/client/dialed-agent.js';
import type { ResourceStorage } from '#storage/resource-storage.js';

/** The certificate is read again after this time: a request that an agent refuses for an old one is not retried. */
const nodeTlsFreshMs = 1_000;

/** Throws OptionsError for a missing file. */
export async function buildNodeAgents(
  values: ApiServerValues,
  { clock, egress, metrics }: ServerEnvironment,
  network: Pick<NodeAgentsOptions, 'reader' | 'resolve' | 'isOwn'>,
): Promise<NodeAgents> {
  const optionFile = async (
    option: 'nodeagent-client-certificate' | 'nodeagent-client-key' | 'nodeagent-certificate-authority',
  ) => {
    const file = values[option] ?? '';
    if (file === '') return undefined;
    // Reading the file here reports a missing one at startup.
    await textOf(option, file);
    return file;
  };
  const files = {
    cert: await optionFile('nodeagent-client-certificate'),
    key: await optionFile('nodeagent-client-key'),
    ca: await optionFile('nodeagent-certificate-authority'),
  };
  const tls = new FileTls({ files, clock, freshMs: nodeTlsFreshMs });
  holdCertificate(metrics, 'node-client', async () => (await tls.current()).cert);
  return new NodeAgents({
    tls,
    addressTypes: values['nodeagent-preferred-address-types'],
    defaultPort: values['nodeagent-port'],
    dial: egress?.dialOf('cluster'),
    ...network,
  });
}

export interface ResourceMetrics {
  /** By group and name of the resource. */
  readonly storages: readonly (readonly [string, ResourceStorage])[];
  close(): void;
}

/** Four times the metrics of a node with a thousand containers. */
const maxResponseBytes = 2 * 1024 * 1024;
/** Idle connections to node agents. */
const maxConnections = 1024;

/** The metrics API, which this server serves unless an extension API server is registered for it. */
export function buildResourceMetrics(
  values: ApiServerValues,
  { dialect, clock: serverClock, clusterClock: clock = serverClock, beginWork, egress, log }: ServerEnvironment,
  { storages, nodeAgents }: { readonly storages: ResourceStorages; readonly nodeAgents: NodeAgents },
): ResourceMetrics {
  const periodMs = values['metric-resolution'];
  const nodeStorage = storages.storageOf(nodes);
  const pooling = { keepAlive: true, maxTotalSockets: maxConnections, timeout: 2 * periodMs };
  const dial = egress?.dialOf('cluster');
  const agent = dial === undefined ? new Agent(pooling) : new DialedHttpsAgent(dial, pooling);
  const read = async (node: string, signal: AbortSignal): Promise<string> => {
    const backend = await nodeAgents.backend(node);
    const request = { backend, method: 'GET', path: '/metrics/resource', headers: {}, agent, signal };
    const response = await openRequest(request);
    const body = await readAll(response, maxResponseBytes);
    if (response.statusCode !== 200) throw new Error(`its agent answers with status ${response.statusCode}`);
    return body.toString();
  };
  const names = () => nodeStorage.cachedIn('').map(({ key }) => key.slice(nodeStorage.prefix.length));
  const countedRead = async (node: string, signal: AbortSignal): Promise<string> => {
    const end = beginWork?.(`measure ${node}`);
    try {
      return await read(node, signal);
    } finally {
      end?.();
    }
  };
  const scraper = new Scraper({ clock, log, periodMs, nodes: names, read: countedRead });
  const sources = (measured: ResourceStorage): MetricsSources => ({
    ...{ dialect, scraper, measured },
    now: () => clock.now(),
  });
  return {
    storages: [
      [`${nodeMetrics.group}/${nodeMetrics.resource}`, new NodeMetricsStorage(sources(nodeStorage))],
      [`${podMetrics.group}/${podMetrics.resource}`, new PodMetricsStorage(sources(storages.storageOf(pods)))],
    ],
    close() {
      scraper.close();
      agent.destroy();
    },
  };
}
