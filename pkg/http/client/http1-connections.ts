/** Keep-alive HTTP/1.1 connections. Streams have connections of their own. */
import { Agent, type ClientRequestArgs, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Connections, ExchangeRequest, ExchangeResponse } from '#http/client/connections.js';
import { flattenHeaders } from '#http/client/connections.js';

/** Limit of sockets for ordinary requests; further requests wait. */
const maxSockets = 32;

export interface Http1Options {
  /** Value of the Host header. */
  readonly authority: string;
  readonly dial: () => Promise<Socket>;
  /** An open connection for the first request. */
  readonly first?: Socket | undefined;
  /** Prefix of every path: the server's URL, if a proxy needs it. */
  readonly pathPrefix?: string;
  /** Headers of every request, such as Proxy-Authorization. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An agent whose connections are opened by the caller. */
class DialingAgent extends Agent {
  readonly #connect: () => Promise<Socket>;

  constructor(connect: () => Promise<Socket>, sockets: number) {
    super({ keepAlive: true, scheduling: 'lifo', maxSockets: sockets });
    this.#connect = connect;
  }

  override createConnection(
    _options: ClientRequestArgs,
    done?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    this.#connect().then(
      (socket) => done?.(null, socket),
      // Node.js's callback accepts an error, its type does not.
      (error: unknown) => (done as ((error: unknown) => void) | undefined)?.(error),
    );
    return undefined;
  }
}

export class Http1Connections implements Connections {
  readonly #options: Http1Options;
  readonly #requests: DialingAgent;
  readonly #streams: DialingAgent;
  #first: Socket | undefined;
  #retired = false;

  constructor(options: Http1Options) {
    this.#options = options;
    this.#first = options.first;
    this.#requests = new DialingAgent(() => this.#connection(), maxSockets);
    this.#streams = new DialingAgent(() => this.#connection(), Number.POSITIVE_INFINITY);
  }

  send(request: ExchangeRequest): Promise<ExchangeResponse> {
    const { authority, pathPrefix = '', headers } = this.#options;
    const { method, path, body, stream, signal, beforeSending } = request;
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest({
        // One name for all connections of the agent; `dial` decides where they lead.
        host: 'server',
        method,
        path: pathPrefix + path,
        headers: {
          host: authority,
          ...headers,
          ...request.headers,
          ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
          ...(this.#retired ? { connection: 'close' } : {}),
        },
        agent: stream ? this.#streams : this.#requests,
        signal,
      });
      outgoing.on('error', reject);
      // Emitted once the agent has a free socket, before the request is written.
      if (beforeSending !== undefined) {
        outgoing.on('socket', () => {
          try {
            beforeSending();
          } catch (error) {
            outgoing.destroy(error as Error);
          }
        });
      }
      outgoing.on('response', (incoming) => resolve(responseOf(incoming)));
      outgoing.end(body);
    });
  }

  retire(): void {
    this.#retired = true;
    this.#first?.destroy();
    for (const agent of [this.#requests, this.#streams]) {
      for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
      // Running requests finish on their connections, which then close.
      agent.maxFreeSockets = 0;
    }
  }

  destroy(): void {
    this.#first?.destroy();
    this.#requests.destroy();
    this.#streams.destroy();
  }

  #connection(): Promise<Socket> {
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined && !first.destroyed) return Promise.resolve(first);
    return this.#options.dial();
  }
}

function responseOf(incoming: IncomingMessage): ExchangeResponse {
  return {
    status: incoming.statusCode ?? 0,
    headers: flattenHeaders(incoming.headers),
    body: incoming,
    isComplete: () => incoming.complete,
    // The rest of the response would have to be read before the connection could be reused.
    cancel: () => incoming.destroy(),
  };
}
