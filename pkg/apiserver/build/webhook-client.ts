/** The client that calls webhooks, of admission and of conversion. */
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { ServiceResolver } from '#apiserver/service-routing/service-resolver.js';
import type { ResolveName } from '#apiserver/streaming/allowed-addresses.js';
import { sharedLookup } from '#apiserver/webhooks/shared-lookup.js';
import { WebhookClient } from '#apiserver/webhooks/webhook-client.js';

interface WebhookClientSetup {
  readonly reader: ObjectReader;
  readonly resolveName: ResolveName;
  /** Servers that share the limit of requests in flight. */
  readonly workers: number;
}

/** Concurrent calls of one webhook where requests in flight are not limited. */
const maxWebhookCalls = 100;

/** A webhook that hangs occupies at most half of the places for requests in flight. */
export function buildWebhookClient(
  values: ApiServerValues,
  { dialect, clock, egress, turns, random, tracer }: ServerEnvironment,
  { reader, resolveName, workers }: WebhookClientSetup,
): WebhookClient {
  const resolver = new ServiceResolver({ reader, random, toEndpoints: values['enable-aggregator-routing'] });
  const limit = values['max-mutating-requests-inflight'];
  return new WebhookClient({
    clock,
    resolve: (service) => resolver.resolve(service),
    lookup: sharedLookup(resolveName),
    // As in 1.24: Services are in the cluster, and servers with a URL beside the control plane.
    dials: { service: egress?.dialOf('cluster'), url: egress?.dialOf('controlplane') },
    pause: () => turns.pause(),
    userAgent: `${dialect.components.apiServer}-admission`,
    maxCalls: limit === 0 ? maxWebhookCalls : Math.max(1, Math.floor(limit / 2 / workers)),
    tracer,
  });
}
