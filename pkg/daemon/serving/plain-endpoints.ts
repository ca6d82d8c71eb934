/** Health and metrics of the daemons of a node, as release 1.24's have them. */
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { Logger } from '#daemon/log/logger.js';
import { metricsText } from '#daemon/metrics/registry.js';
import { bindAddress } from '#daemon/serving/bind-address.js';
import { answerAlways, listenPlainly, type PlainAnswer, plainApp } from '#daemon/serving/plain-app.js';

export class PlainEndpoints {
  readonly #log: Logger;
  readonly #apps: FastifyInstance[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param at `0.0.0.0:10256`; empty: none. Resolves when it listens, or has said why not. */
  async serve(at: string, path: string, answer: () => PlainAnswer | Promise<PlainAnswer>): Promise<void> {
    const where = bindAddress(at);
    if (where === undefined) return;
    const app = plainApp(this.#log);
    answerAlways(app, path, answer);
    this.#apps.push(app);
    await listenPlainly(app, where, this.#log);
  }

  serveMetrics(at: string, registry: Registry): Promise<void> {
    return this.serve(at, '/metrics', async () => ({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
      body: await metricsText(registry),
    }));
  }

  async close(): Promise<void> {
    await Promise.all(this.#apps.map((app) => app.close()));
  }
}
