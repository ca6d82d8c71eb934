/** One request to one endpoint. Nothing is sent before there is a connection, so that another endpoint can be tried. */
import { type Agent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Clock } from '#apimachinery/clock.js';
import type { Endpoint } from '#ingress/endpoints/endpoints.js';
import type { IngressLimits } from '#ingress/http/limits.js';

export interface BackendRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** Absent: there is none. */
  readonly body?: Readable | undefined;
  /** A protocol to switch to; absent: none. */
  readonly upgrade?: string | undefined;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

export type BackendAnswer =
  | { readonly answer: IncomingMessage }
  | { readonly switched: IncomingMessage; readonly socket: Socket; readonly head: Buffer };

export interface BackendContext {
  /** Of kept connections. */
  readonly agent: Agent;
  readonly clock: Clock;
  readonly limits: Pick<IngressLimits, 'dialMs' | 'backendMs' | 'maxHeaderBytes'>;
  /** Called when there is somebody to send a body to. */
  readonly connected: () => void;
}

/** There is no answer. */
export class BackendFailure extends Error {
  /**
   * `dial`: there was no connection, and nothing was sent. `stale`: a kept connection had ended, before any of an answer.
   * `silent`: no answer in time. `broken`: everything else.
   */
  readonly kind: 'dial' | 'stale' | 'silent' | 'broken';

  constructor(kind: BackendFailure['kind'], cause: Error) {
    super(cause.message, { cause });
    this.kind = kind;
  }
}

/** Methods that may be repeated when nobody knows whether they were heard (RFC 9110, 9.2.2). */
const repeatable: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/** Whether the request can be sent twice: a connection that may have ended meanwhile will do for it. */
export function isRepeatable({ body, method, upgrade }: BackendRequest): boolean {
  return body === undefined && upgrade === undefined && repeatable.has(method);
}

/** The head of the endpoint's answer. Rejects with a BackendFailure. */
export function askBackend(
  endpoint: Endpoint,
  request: BackendRequest,
  { agent, clock, connected: onConnected, limits }: BackendContext,
): Promise<BackendAnswer> {
  const { address: host, port } = endpoint;
  const { body, headers, method, signal, target: path, upgrade } = request;
  const switching = upgrade === undefined ? {} : { connection: 'Upgrade', upgrade };
  const options: RequestOptions = {
    ...{ host, port, method, path, signal },
    headers: { ...headers, ...switching },
    setHost: false,
    maxHeaderSize: limits.maxHeaderBytes,
    agent,
  };
  return new Promise((resolve, reject) => {
    let isConnected = false;
    let isSilent = false;
    const outgoing = httpRequest(options);
    const connected = () => {
      isConnected = true;
      onConnected();
      outgoing.setTimeout(limits.backendMs, () => {
        isSilent = true;
        outgoing.destroy(new Error(`no answer in ${limits.backendMs / 1000} s`));
      });
      if (body === undefined) outgoing.end();
      else send(body, outgoing);
    };
    outgoing.once('socket', (socket) => {
      if (outgoing.reusedSocket || !socket.connecting) {
        connected();
        return;
      }
      const timer = clock.setTimer(
        () => outgoing.destroy(new Error(`no connection in ${limits.dialMs / 1000} s`)),
        limits.dialMs,
      );
      socket.once('connect', () => {
        timer.cancel();
        connected();
      });
      socket.once('close', () => timer.cancel());
    });
    outgoing.once('response', (answer) => resolve({ answer }));
    outgoing.once('upgrade', (switched: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.setTimeout(0);
      if (upgrade !== undefined) resolve({ switched, socket, head });
      else {
        socket.destroy();
        reject(new BackendFailure('broken', new Error('it switched protocols without being asked to')));
      }
    });
    // Once there is an answer, failures are those of its body.
    outgoing.on('error', (error) => reject(new BackendFailure(kindOf(), error)));
    const kindOf = () => {
      if (!isConnected) return 'dial';
      if (isSilent) return 'silent';
      return outgoing.reusedSocket ? 'stale' : 'broken';
    };
  });
}

/** As fast as the backend takes it; a client that breaks off breaks the request off. */
function send(body: Readable, outgoing: ReturnType<typeof httpRequest>): void {
  const brokenOff = () => outgoing.destroy(new Error('the client broke off'));
  const closed = () => {
    if (!body.readableEnded) brokenOff();
  };
  body.once('error', brokenOff);
  body.once('close', closed);
  outgoing.once('close', () => {
    body.unpipe(outgoing);
    body.off('close', closed);
  });
  body.pipe(outgoing);
}
