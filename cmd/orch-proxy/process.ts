/** The proxy with what it stands on, and what others ask it: health and metrics, as of release 1.24's. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { InformerFactory } from '#client/informer/informer.js';
import type { Connection } from '#client/rest/connection.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import type { PlainAnswer } from '#daemon/serving/plain-app.js';
import { PlainEndpoints } from '#daemon/serving/plain-endpoints.js';
import type { NodeProxy } from '#proxy/node-proxy.js';

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
  readonly #endpoints: PlainEndpoints;
  readonly #stop = new AbortController();

  constructor(parts: ProxyProcessParts) {
    this.name = parts.name;
    this.#parts = parts;
    this.#endpoints = new PlainEndpoints(parts.log);
  }

  ready(): Promise<void> {
    return this.#parts.proxy.ready();
  }

  async start(signal: AbortSignal): Promise<void> {
    const { healthzAddress, informers, metrics, metricsAddress, proxy } = this.#parts;
    void this.#endpoints.serve(healthzAddress, '/healthz', () => this.#health());
    void this.#endpoints.serveMetrics(metricsAddress, metrics);
    const watched = informers.start(AbortSignal.any([signal, this.#stop.signal]));
    await Promise.race([proxy.start(signal), watched]);
  }

  async close(): Promise<void> {
    const { connection, proxy } = this.#parts;
    await proxy.close();
    this.#stop.abort();
    await this.#endpoints.close();
    await connection.close();
  }

  /** Unhealthy when something has waited for two periods: whoever asks is to send traffic elsewhere. */
  #health(): PlainAnswer {
    const { clock, proxy, syncPeriodMs } = this.#parts;
    const { lastSync, queuedAt } = proxy.times;
    const now = clock.now();
    const isHealthy = lastSync > 0 && (queuedAt === undefined || now - queuedAt < 2 * syncPeriodMs);
    const time = (ms: number) => new Date(ms).toISOString();
    return {
      status: isHealthy ? 200 : 503,
      type: 'application/json',
      body: `{"lastUpdated": "${time(isHealthy ? now : lastSync)}","currentTime": "${time(now)}"}`,
    };
  }
}
