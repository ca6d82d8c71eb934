/** Upgrade requests: through the same pipeline as all others, then the endpoint owns the socket. */
import { once } from 'node:events';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ApiRequest, ApiResponse, UpgradeHandler } from '#apiserver/http/exchange.js';
import type { Endpoint, Pipeline } from '#apiserver/http/pipeline.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import type { ResourceRouter } from '#apiserver/registry/router.js';
import { watchOverWebSocket } from '#apiserver/registry/watch-websocket.js';

export interface UpgradeOptions {
  readonly pipeline: Pipeline;
  readonly router: ResourceRouter;
  readonly registry: RegistryContext;
  /** Answers requests that ask for an upgrade where there is none to have: as if they had not asked. */
  readonly plain: Endpoint;
}

/** Stands for an answer that is on the socket already. */
const switched = 101;

export function upgradeHandler({ pipeline, router, registry, plain }: UpgradeOptions): UpgradeHandler {
  return async (request: ApiRequest, socket: Duplex, head: Buffer) => {
    const response = await pipeline.run(request, async (context) => {
      if (!context.info.resourceRequest) return plain(context);
      const resource = router.find(context);
      const upgrade = router.connect(context, resource)?.upgrade;
      if (upgrade !== undefined) await upgrade(context, socket, head);
      else if (context.info.verb === 'watch' && request.headers['upgrade']?.toLowerCase() === 'websocket') {
        await watchOverWebSocket(registry, context, resource, { socket, head });
      } else return plain(context);
      return { status: switched, headers: {}, body: undefined };
    });
    if (response.status !== switched) await answer(socket, response, request.signal);
  };
}

/** Writes a plain HTTP/1.1 answer, since the socket is out of the server's hands; its end is the end of the body. */
async function answer(socket: Duplex, { status, headers, body }: ApiResponse, signal: AbortSignal): Promise<void> {
  const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`);
  for await (const part of Buffer.isBuffer(body) ? [body] : (body ?? [])) {
    if (socket.destroyed) return;
    // Rejects when the client is gone, which the next turn sees by itself.
    if (!socket.write(part)) await once(socket, 'drain', { signal }).catch(() => undefined);
  }
  socket.end();
}
