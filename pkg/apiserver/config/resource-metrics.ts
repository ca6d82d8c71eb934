/** The metrics API, which this server serves itself unless another one is registered for it. */
import { Agent } from 'node:https';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import { nodes as nodeMetrics, pods as podMetrics } from '#api/metrics/v1beta1/resources.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import {
  type MetricsSources,
  NodeMetricsStorage,
  PodMetricsStorage,
} from '#apiserver/resourcemetrics/metrics-storage.js';
import { Scraper } from '#apiserver/resourcemetrics/scraper.js';
import type { ResourceStorages } from '#apiserver/resources/storages.js';
import { openRequest } from '#apiserver/streaming/http-proxy.js';
import type { NodeAgents } from '#apiserver/streaming/node-agents.js';
import { readAll } from '#client/rest/response.js';
import type { Logger } from '#daemon/log/logger.js';
import type { ResourceStorage } from '#storage/resource-storage.js';

export interface ResourceMetricsOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  readonly storages: ResourceStorages;
  readonly nodeAgents: NodeAgents;
  /** Between two measurements of a node. */
  readonly periodMs: number;
}

export interface ResourceMetrics {
  /** By group and name of the resource. */
  readonly storages: readonly (readonly [string, ResourceStorage])[];
  close(): void;
}

/** Of a node with a thousand containers it is a quarter of that. */
const maxAnswerBytes = 2 * 1024 * 1024;
/** Kept between two measurements. */
const maxKeptConnections = 1024;

export function buildResourceMetrics(options: ResourceMetricsOptions): ResourceMetrics {
  const { dialect, clock, log, storages, nodeAgents, periodMs } = options;
  const ofNodes = storages.storageOf(nodes);
  const agent = new Agent({ keepAlive: true, maxTotalSockets: maxKeptConnections, timeout: 2 * periodMs });
  const read = async (node: string, signal: AbortSignal): Promise<string> => {
    const backend = await nodeAgents.backend(node);
    const request = { backend, method: 'GET', path: '/metrics/resource', headers: {}, agent, signal };
    const answer = await openRequest(request);
    const body = await readAll(answer, maxAnswerBytes);
    if (answer.statusCode !== 200) throw new Error(`its agent answers with status ${answer.statusCode}`);
    return body.toString();
  };
  const names = () => ofNodes.cachedIn('').map(({ key }) => key.slice(ofNodes.prefix.length));
  const scraper = new Scraper({ clock, log, periodMs, nodes: names, read });
  const sources = (measured: ResourceStorage): MetricsSources => ({
    ...{ dialect, scraper, measured },
    now: () => clock.now(),
  });
  return {
    storages: [
      [`${nodeMetrics.group}/${nodeMetrics.resource}`, new NodeMetricsStorage(sources(ofNodes))],
      [`${podMetrics.group}/${podMetrics.resource}`, new PodMetricsStorage(sources(storages.storageOf(pods)))],
    ],
    close() {
      scraper.close();
      agent.destroy();
    },
  };
}
