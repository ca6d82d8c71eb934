/** Passes upgrade requests through the same pipeline as all others; then the endpoint owns the socket. */
import type { Duplex } from 'node:stream';
import type { AggregationProxy } from '#apiserver/aggregation/proxy.js';
import type { ApiRequest } from '#apiserver/http/exchange.js';
import type { AuditTrail } from '#apiserver/http/request-context.js';
import type { Endpoint, Pipeline } from '#apiserver/pipeline/pipeline.js';
import type { RegistryContext } from '#apiserver/registry/operation.js';
import { watchOverWebSocket } from '#apiserver/registry/watch-websocket.js';
import { admitConnection } from '#apiserver/routing/admit-connection.js';
import type { ResourceRouter } from '#apiserver/routing/router.js';
import type { UpgradeHandler } from '#http/server/exchange.js';

export interface UpgradeOptions {
  readonly pipeline: Pipeline;
  readonly router: ResourceRouter;
  readonly registry: RegistryContext;
  /** Answers upgrade requests for endpoints without upgrades, as ordinary requests. */
  readonly plain: Endpoint;
  /** Proxy to extension API servers; absent: there are none. */
  readonly proxy?: AggregationProxy | undefined;
}

/** The status of a response that is on the socket already. */
const switched = 101;
const onSocket = () => ({ status: switched, headers: {}, body: undefined });

export function upgradeHandler({ pipeline, router, registry, plain, proxy }: UpgradeOptions): UpgradeHandler {
  return async (request: ApiRequest, socket: Duplex, head: Buffer) => {
    let audit: AuditTrail | undefined;
    const response = await pipeline.run(request, async (context) => {
      audit = context.audit;
      const remote = proxy?.find(context);
      if (proxy !== undefined && remote !== undefined) {
        return (await proxy.upgrade(context, remote, { socket, head })) ?? onSocket();
      }
      if (!context.info.resourceRequest) return plain(context);
      const resource = await router.resolve(context);
      const upgrade = router.connect(context, resource)?.upgrade;
      if (upgrade !== undefined) {
        await admitConnection({ registry, context, resource });
        const refusal = await upgrade(context, { socket, head, messages: registry.watches.messages });
        if (refusal !== undefined) return refusal;
      } else if (context.info.verb === 'watch' && request.headers['upgrade']?.toLowerCase() === 'websocket') {
        await watchOverWebSocket({ registry, context, resource }, { socket, head });
      } else return plain(context);
      return onSocket();
    });
    if (response.status !== switched) return response;
    if (audit !== undefined) whenClosed(socket, audit);
    return undefined;
  };
}

/** Ends the audit when the socket closes; the endpoint that owns the socket closes it. */
function whenClosed(socket: Duplex, audit: AuditTrail): void {
  if (socket.closed) audit.completed();
  else socket.once('close', () => audit.completed());
}
