/** Upgrade requests: through the same pipeline as all others, then the endpoint owns the socket. */
import type { Duplex } from 'node:stream';
import { badRequest } from '#apimachinery/errors/status.js';
import type { ApiRequest, ApiResponse, UpgradeHandler } from '#apiserver/http/exchange.js';
import type { Pipeline } from '#apiserver/http/pipeline.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import type { ResourceRouter } from '#apiserver/registry/router.js';
import { watchOverWebSocket } from '#apiserver/registry/watch-websocket.js';

export interface UpgradeOptions {
  readonly pipeline: Pipeline;
  readonly router: ResourceRouter;
  readonly registry: RegistryContext;
}

/** Stands for an answer that is on the socket already. */
const switched: ApiResponse = { status: 101, headers: {}, body: undefined };

export function upgradeHandler({ pipeline, router, registry }: UpgradeOptions): UpgradeHandler {
  return async (request: ApiRequest, socket: Duplex, head: Buffer) => {
    const response = await pipeline.run(request, async (context) => {
      const resource = router.find(context);
      if (context.info.verb === 'watch') {
        await watchOverWebSocket(registry, context, resource, { socket, head });
        return { ...switched, headers: {} };
      }
      const endpoint = router.connect(context, resource);
      if (endpoint?.upgrade === undefined) throw badRequest('this path does not take upgraded connections');
      await endpoint.upgrade(context, socket, head);
      return { ...switched, headers: {} };
    });
    if (response.status !== 101) await refuse(socket, response);
  };
}

/** Writes the refusal as plain HTTP/1.1, since the socket is out of the server's hands. */
async function refuse(socket: Duplex, { status, headers, body }: ApiResponse): Promise<void> {
  const parts: Buffer[] = [];
  if (Buffer.isBuffer(body)) parts.push(body);
  else if (body !== undefined) for await (const part of body) parts.push(part);
  const bytes = Buffer.concat(parts);
  const lines = Object.entries({ ...headers, 'content-length': String(bytes.length), connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  if (socket.destroyed) return;
  socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 ${status} \r\n${head}\r\n`), bytes]));
}
