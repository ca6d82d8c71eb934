/** Health and metrics of the daemons of a node, without TLS and authentication, as release 1.24's have them. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import type { Logger } from '#daemon/log/logger.js';
import { metricsText } from '#daemon/metrics/registry.js';
import { bindAddress } from '#daemon/serving/bind-address.js';

type Answer = (response: ServerResponse) => Promise<void> | void;

export class PlainEndpoints {
  readonly #log: Logger;
  readonly #servers: Server[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param at `0.0.0.0:10256`; empty: none. */
  serve(at: string, path: string, answer: Answer): void {
    const where = bindAddress(at);
    if (where === undefined) return;
    const server = createServer((request: IncomingMessage, response) => {
      if (request.url?.split('?')[0] !== path) {
        response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
        return;
      }
      Promise.resolve(answer(response)).catch((error: unknown) => {
        this.#log.error({ err: error, path }, 'Answering failed');
        response.destroy();
      });
    });
    // What the daemon is there for goes on without it.
    server.on('error', (error) => this.#log.error({ err: error, address: at }, 'A port cannot be listened at'));
    server.listen(where.port, where.address);
    this.#servers.push(server);
  }

  serveMetrics(at: string, registry: Registry): void {
    this.serve(at, '/metrics', async (response) => {
      const text = await metricsText(registry);
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
      response.end(text);
    });
  }

  close(): void {
    for (const server of this.#servers) {
      server.close();
      server.closeAllConnections();
    }
  }
}
