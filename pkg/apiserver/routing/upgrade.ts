/** Upgrade requests: through the same pipeline as all others, then the endpoint owns the socket. */
import type { Duplex } from 'node:stream';
import type { ApiRequest, UpgradeHandler } from '#apiserver/http/exchange.js';
import type { Endpoint, Pipeline } from '#apiserver/pipeline/pipeline.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import { watchOverWebSocket } from '#apiserver/registry/watch-websocket.js';
import type { ResourceRouter } from '#apiserver/routing/router.js';

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
      if (upgrade !== undefined) {
        const refusal = await upgrade(context, { socket, head, messages: registry.messages });
        if (refusal !== undefined) return refusal;
      } else if (context.info.verb === 'watch' && request.headers['upgrade']?.toLowerCase() === 'websocket') {
        await watchOverWebSocket({ registry, context, resource }, { socket, head });
      } else return plain(context);
      return { status: switched, headers: {}, body: undefined };
    });
    return response.status === switched ? undefined : response;
  };
}
