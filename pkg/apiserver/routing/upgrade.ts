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
  /** Puts a step before the endpoint; the step ends when the connection is upgraded. */
  readonly around: (endpoint: Endpoint) => Endpoint;
  /** Proxy to extension API servers; absent: there are none. */
  readonly proxy?: AggregationProxy | undefined;
}

/** The status of a response that is on the socket already. */
const switched = 101;
const onSocket = () => ({ status: switched, headers: {}, body: undefined });

export function upgradeHandler({ pipeline, router, registry, plain, around, proxy }: UpgradeOptions): UpgradeHandler {
  return async (request: ApiRequest, socket: Duplex, head: Buffer) => {
    let audit: AuditTrail | undefined;
    let watch: Promise<void> | undefined;
    const upgraded = around(async (context) => {
      const connection = { socket: context.connection ?? socket, head };
      const remote = proxy?.find(context);
      if (proxy !== undefined && remote !== undefined) {
        return (await proxy.upgrade(context, remote, connection)) ?? onSocket();
      }
      if (!context.info.resourceRequest) return plain(context);
      const resource = await router.resolve(context);
      const upgrade = router.connect(context, resource)?.upgrade;
      if (upgrade !== undefined) {
        await admitConnection({ registry, context, resource });
        const refusal = await upgrade(context, { ...connection, messages: registry.watches.messages });
        if (refusal !== undefined) return refusal;
      } else if (context.info.verb === 'watch' && request.headers['upgrade']?.toLowerCase() === 'websocket') {
        watch = (await watchOverWebSocket({ registry, context, resource }, connection)).ended;
      } else return plain(context);
      return onSocket();
    });
    const response = await pipeline.run(request, async (context) => {
      audit = context.audit;
      context.connection = socket;
      const answer = await upgraded(context);
      await watch;
      return answer;
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
