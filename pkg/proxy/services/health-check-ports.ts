/**
 * Health check ports for load balancers: whether this node has endpoints of a service, with release 1.24's responses.
 */
import type { FastifyInstance } from 'fastify';
import type { Logger } from '#daemon/log/logger.js';
import { answerAlways, listenPlainly, plainApp } from '#daemon/serving/plain-http.js';

export interface HealthCheckPort {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly localEndpoints: number;
}

interface Listening {
  check: HealthCheckPort;
  readonly app: FastifyInstance;
}

export class HealthCheckPorts {
  readonly #log: Logger;
  readonly #listening = new Map<number, Listening>();
  /** Completed closes: a port may move from one service to another. */
  #ended: Promise<unknown> = Promise.resolve();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Sets a service's check; undefined removes it. */
  set(key: string, check: HealthCheckPort | undefined): void {
    for (const [port, { check: old, app }] of this.#listening) {
      if (`${old.namespace}/${old.name}` !== key || port === check?.port) continue;
      this.#listening.delete(port);
      this.#end(app);
    }
    if (check === undefined) return;
    const listening = this.#listening.get(check.port);
    if (listening !== undefined) listening.check = check;
    else void this.#listen(check);
  }

  async close(): Promise<void> {
    for (const { app } of this.#listening.values()) this.#end(app);
    this.#listening.clear();
    await this.#ended;
  }

  #end(app: FastifyInstance): void {
    this.#ended = Promise.all([this.#ended, app.close()]);
  }

  async #listen(first: HealthCheckPort): Promise<void> {
    const { port } = first;
    const app = plainApp(this.#log);
    const listening: Listening = { check: first, app };
    this.#listening.set(port, listening);
    answerAlways(app, '*', () => {
      const { localEndpoints, name, namespace } = listening.check;
      return {
        status: localEndpoints > 0 ? 200 : 503,
        type: 'application/json',
        body: JSON.stringify({ service: { namespace, name }, localEndpoints }, null, '\t'),
      };
    });
    await this.#ended;
    if (this.#listening.get(port) !== listening) return;
    const log = this.#log.child({ service: `${first.namespace}/${first.name}` });
    const bound = await listenPlainly(app, { address: '', port }, log);
    if (bound === undefined && this.#listening.get(port) === listening) this.#listening.delete(port);
  }
}
