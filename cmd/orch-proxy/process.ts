/** The proxy with what it stands on, and what others ask it: health and metrics, as of release 1.24's. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { InformerFactory } from '#client/informer/informer.js';
import type { Connection } from '#client/rest/connection.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import { metricsText } from '#daemon/metrics/registry.js';
import type { NodeProxy } from '#proxy/node-proxy.js';
import { bindAddress } from '#proxy/options.js';

export interface ProxyProcessParts {
  readonly name: string;
  readonly proxy: NodeProxy;
  readonly informers: InformerFactory;
  readonly connection: Connection;
  readonly metrics: Registry;
  readonly clock: Clock;
  readonly log: Logger;
  /** `0.0.0.0:10256`; empty: none. */
  readonly healthzAddress: string;
  readonly metricsAddress: string;
  readonly syncPeriodMs: number;
}

export class ProxyProcess implements Daemon {
  readonly name: string;
  readonly #parts: ProxyProcessParts;
  readonly #servers: Server[] = [];
  readonly #stop = new AbortController();

  constructor(parts: ProxyProcessParts) {
    this.name = parts.name;
    this.#parts = parts;
  }

  ready(): Promise<void> {
    return this.#parts.proxy.ready();
  }

  async start(signal: AbortSignal): Promise<void> {
    const { healthzAddress, informers, metricsAddress, proxy } = this.#parts;
    this.#serve(healthzAddress, '/healthz', (response) => this.#health(response));
    this.#serve(metricsAddress, '/metrics', (response) => this.#metrics(response));
    const watched = informers.start(AbortSignal.any([signal, this.#stop.signal]));
    await Promise.race([proxy.start(signal), watched]);
  }

  async close(): Promise<void> {
    const { connection, proxy } = this.#parts;
    await proxy.close();
    this.#stop.abort();
    for (const server of this.#servers) {
      server.close();
      server.closeAllConnections();
    }
    await connection.close();
  }

  /** Unhealthy when something has waited for two periods: whoever asks is to send traffic elsewhere. */
  async #health(response: ServerResponse): Promise<void> {
    const { clock, proxy, syncPeriodMs } = this.#parts;
    const { lastSync, queuedAt } = proxy.times;
    const now = clock.now();
    const isHealthy = lastSync > 0 && (queuedAt === undefined || now - queuedAt < 2 * syncPeriodMs);
    const time = (ms: number) => new Date(ms).toISOString();
    response.writeHead(isHealthy ? 200 : 503, {
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
    });
    response.end(`{"lastUpdated": "${time(isHealthy ? now : lastSync)}","currentTime": "${time(now)}"}`);
  }

  async #metrics(response: ServerResponse): Promise<void> {
    const text = await metricsText(this.#parts.metrics);
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(text);
  }

  #serve(at: string, path: string, answer: (response: ServerResponse) => Promise<void>): void {
    const { log } = this.#parts;
    const where = bindAddress(at);
    if (where === undefined) return;
    const server = createServer((request: IncomingMessage, response) => {
      if (request.url?.split('?')[0] !== path) {
        response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
        return;
      }
      answer(response).catch((error: unknown) => {
        log.error({ err: error, path }, 'Answering failed');
        response.destroy();
      });
    });
    // The node's services go on without it.
    server.on('error', (error) => log.error({ err: error, address: at }, 'A port cannot be listened at'));
    server.listen(where.port, where.address);
    this.#servers.push(server);
  }
}
