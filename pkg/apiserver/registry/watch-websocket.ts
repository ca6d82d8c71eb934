/** Watches over WebSocket: one text message per event. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { badRequest } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import type { ServedResource } from '#apiserver/registry/served-resource.js';
import { negotiateWatch, openWatch } from '#apiserver/registry/watch.js';

/** Largest message that a client may send; it has nothing to say. */
const maxPayloadBytes = 1024;

/** Throws as a watch does before the connection is upgraded; resolves when it has ended. */
export async function watchOverWebSocket(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
  connection: { readonly socket: Duplex; readonly head: Buffer },
): Promise<void> {
  const form = { ...negotiateWatch(registry, context, resource), format: 'json' as const };
  const frames = await openWatch(registry, context, resource, form);
  const { method, url, headers } = context.request;
  const server = new WebSocketServer({ noServer: true, maxPayload: maxPayloadBytes });
  // Only these three are looked at.
  const request = { method, url, headers } as IncomingMessage;
  const client = await new Promise<WebSocket>((resolve, reject) => {
    server.once('wsClientError', (error) => reject(badRequest(error.message, error)));
    server.handleUpgrade(request, connection.socket, connection.head, resolve);
  });
  client.on('error', (err) => registry.log.debug({ err, url }, 'watch connection failed'));
  let rest = '';
  for await (const piece of frames) {
    const lines = (rest + piece.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!(await send(client, line))) return;
    }
  }
  client.close();
}

/** False when the client is gone. Waits until the message has left, so that a slow client is not queued up for. */
function send(client: WebSocket, text: string): Promise<boolean> {
  if (client.readyState !== WebSocket.OPEN) return Promise.resolve(false);
  return new Promise((resolve) => client.send(text, (error) => resolve(!error)));
}
