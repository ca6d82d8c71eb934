/**
 * Answers of the API in WebSockets: watches and logs that are followed. A browser opens six connections of HTTP/1.1 to a host,
 * and a page has more watches than that.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import { messageOf } from '#apimachinery/errors/message.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { Api } from '#cmd/orchctl/api/api.js';
import { plain } from '#daemon/serving/plain-http.js';
import { type AppUpgrades, detachUpgrade } from '#daemon/streaming/app-upgrades.js';

/** Streams of one server at once. */
const maxStreams = 300;
/** A page has nothing to say on a stream. */
const maxPayloadBytes = 1024;
/** Longest reason of a closed WebSocket (RFC 6455, 5.5.1). */
const maxReason = 120;
const apiPath = /^\/apis?\/[^\s#]*$/;

export function addStream(app: FastifyInstance, upgrades: AppUpgrades, api: Api): void {
  const server = new WebSocketServer({ noServer: true, maxPayload: maxPayloadBytes });
  let open = 0;
  app.get('/ui/stream', async (request: FastifyRequest, reply) => {
    const upgrade = upgrades.of(request);
    const { path = '', accept = '*/*' } = request.query as { readonly path?: string; readonly accept?: string };
    if (upgrade === undefined) return plain(reply, 426, 'a WebSocket is needed\n');
    if (!apiPath.test(path)) return plain(reply, 400, 'the path is not of the API\n');
    if (open >= maxStreams) return plain(reply, 429, 'too many streams are open\n');
    detachUpgrade(reply, upgrade.socket);
    server.handleUpgrade(request.raw, upgrade.socket, upgrade.head, (socket) => {
      open++;
      const stop = new AbortController();
      socket.on('error', () => stop.abort());
      socket.once('close', () => {
        open--;
        stop.abort();
      });
      void pass(api, { path, accept }, socket, stop.signal);
    });
    return reply;
  });
}

/** First the status, then the body in parts, each once the one before has left. */
async function pass(
  api: Api,
  { path, accept }: { readonly path: string; readonly accept: string },
  socket: WebSocket,
  signal: AbortSignal,
): Promise<void> {
  const send = (text: string) =>
    new Promise<void>((resolve, reject) => {
      socket.send(text, (error) => (error instanceof Error ? reject(error) : resolve()));
    });
  try {
    const response = await api.send('GET', path, undefined, { accept }, signal);
    await send(JSON.stringify({ status: response.status }));
    const decoder = new TextDecoder();
    for await (const part of response.body) await send(decoder.decode(part, { stream: true }));
    socket.close(1000);
  } catch (error) {
    if (signal.aborted) return;
    const status = statusOf(error);
    if (status === undefined) {
      socket.close(1011, messageOf(error).slice(0, maxReason));
      return;
    }
    socket.send(JSON.stringify({ status: status.code ?? 500, body: JSON.stringify(status) }));
    socket.close(1000);
  }
}
