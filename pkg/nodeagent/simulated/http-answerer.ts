/** Speaks HTTP/1.1 on connections to simulated pods. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '#apimachinery/clock.js';
import type { HttpAnswer } from '#nodeagent/simulated/settings/answers.js';

/** The answer to a path at this moment; undefined if the container runs no longer. */
type Answer = (path: string) => HttpAnswer | undefined;

export class HttpAnswerer {
  readonly #clock: Clock;
  readonly #answers = new WeakMap<object, Answer>();
  readonly #server;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#server = createServer({ requireHostHeader: false, keepAlive: false }, (request, response) => {
      // A broken connection needs no answer.
      this.#respond(request, response).catch(() => response.destroy());
    });
  }

  /** Answers the requests of a connection until its other end closes it. */
  serve(connection: Duplex, answer: Answer): void {
    this.#answers.set(connection, answer);
    connection.on('error', () => connection.destroy());
    this.#server.emit('connection', connection);
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    const answer = this.#answers.get(request.socket)?.(request.url ?? '/');
    if (answer === undefined) {
      response.destroy();
      return;
    }
    const { status, headers, body, latencyMs } = answer;
    if (latencyMs > 0) await this.#clock.sleep(latencyMs);
    response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers, connection: 'close' });
    response.end(request.method === 'HEAD' ? undefined : body);
  }
}
