/**
 * Upgrade requests in a Fastify application: routes answer them like other requests, or forward the backend's response
 * and turn the connection into a tunnel.
 */
import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { endToEndHeaders } from '#daemon/streaming/forwarding.js';
import { openTunnel, type Tunnel, type UpgradeAnswer } from '#daemon/streaming/tunnel.js';

/** An upgrade request's connection and the bytes that followed the request. */
export interface UpgradeRequest {
  readonly socket: Socket;
  readonly head: Buffer;
  readonly protocol: string;
}

/** Clear-text HTTP/2 starts with this upgrade. It may be ignored (RFC 9113, 3.1) and would bypass the routes. */
const clearHttp2 = 'h2c';

export class AppUpgrades {
  readonly #requests = new WeakMap<object, UpgradeRequest>();
  readonly #ignored: string | undefined;

  /** `isForwarding`: requests go to backends, so clear-text HTTP/2 is treated as a request without an upgrade. */
  constructor({ isForwarding }: { readonly isForwarding: boolean }) {
    this.#ignored = isForwarding ? clearHttp2 : undefined;
  }

  addTo(app: FastifyInstance): void {
    app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgrade(app.routing, request, { socket: socket as Socket, head }),
    );
  }

  of({ raw }: FastifyRequest): UpgradeRequest | undefined {
    return this.#requests.get(raw);
  }

  /** Node.js has detached the connection and its listeners, so the response is created here. */
  #upgrade(
    route: RequestListener,
    request: IncomingMessage,
    { head, socket }: { readonly socket: Socket; readonly head: Buffer },
  ): void {
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    const { 'content-length': length = '0', 'transfer-encoding': encoding, upgrade: protocol = '' } = request.headers;
    const isClear = protocol
      .toLowerCase()
      .split(',')
      .some((each) => each.trim() === this.#ignored);
    const refuse = (text: string) => response.writeHead(400, { 'content-type': 'text/plain' }).end(text);
    if (encoding !== undefined || length !== '0') refuse('an upgrade request must not have a body\n');
    else if (isClear && head.length > 0) refuse('HTTP/2 requires TLS\n');
    else {
      if (!isClear) this.#requests.set(request, { socket, head, protocol });
      route(request, response);
    }
  }
}

/** Forwards the backend's response; after a switch of protocols the tunnel owns the connection. */
export function answerUpgrade(
  reply: FastifyReply,
  { head: clientHead, socket: client }: UpgradeRequest,
  answered: UpgradeAnswer,
  options: Pick<Tunnel, 'clock' | 'silenceMs'>,
): FastifyReply {
  if ('refusal' in answered) {
    const { headers, statusCode = 502, statusMessage = '' } = answered.refusal;
    reply.raw.statusMessage = statusMessage;
    return reply.code(statusCode).headers(endToEndHeaders(headers)).send(answered.refusal);
  }
  detachUpgrade(reply, client);
  openTunnel({ ...answered, ...options, client, clientHead });
  return reply;
}

/** Gives up the reply, so that the caller owns the connection. */
export function detachUpgrade(reply: FastifyReply, socket: Socket): void {
  reply.hijack();
  reply.raw.detachSocket(socket);
  socket.removeAllListeners('timeout');
}
