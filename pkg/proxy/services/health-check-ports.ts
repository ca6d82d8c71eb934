/** The ports at which load balancers ask whether a node has endpoints of a service, with the answers of release 1.24. */
import { createServer, type Server } from 'node:http';
import type { Logger } from '#daemon/log/logger.js';

export interface HealthCheckPort {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly localEndpoints: number;
}

interface Listening {
  check: HealthCheckPort;
  readonly server: Server;
}

export class HealthCheckPorts {
  readonly #log: Logger;
  readonly #listening = new Map<number, Listening>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** One service after the other, by its key; undefined: it has no such port any more. */
  set(key: string, check: HealthCheckPort | undefined): void {
    for (const [port, { check: old, server }] of this.#listening) {
      if (`${old.namespace}/${old.name}` !== key || port === check?.port) continue;
      this.#listening.delete(port);
      end(server);
    }
    if (check === undefined) return;
    const known = this.#listening.get(check.port);
    if (known !== undefined) known.check = check;
    else this.#listen(check);
  }

  close(): void {
    for (const { server } of this.#listening.values()) end(server);
    this.#listening.clear();
  }

  #listen(check: HealthCheckPort): void {
    const { port } = check;
    const server = createServer((_, response) => {
      const { localEndpoints, name, namespace } = this.#listening.get(port)?.check ?? check;
      response.writeHead(localEndpoints > 0 ? 200 : 503, {
        'content-type': 'application/json',
        'x-content-type-options': 'nosniff',
      });
      response.end(`${JSON.stringify({ service: { namespace, name }, localEndpoints }, null, '\t')}`);
    });
    server.on('error', (error) => {
      this.#log.error(
        { err: error, service: `${check.namespace}/${check.name}`, port },
        'Health checks cannot be answered',
      );
      if (this.#listening.get(port)?.server === server && !server.listening) this.#listening.delete(port);
    });
    this.#listening.set(port, { check, server });
    server.listen(port);
  }
}

function end(server: Server): void {
  server.close();
  server.closeAllConnections();
}
