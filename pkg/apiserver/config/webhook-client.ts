/** How this server asks webhooks. */
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { ServiceResolver } from '#apiserver/service-routing/service-resolver.js';
import type { ResolveName } from '#apiserver/streaming/reachable.js';
import { sharedLookup } from '#apiserver/webhooks/shared-lookup.js';
import { WebhookClient } from '#apiserver/webhooks/webhook-client.js';
import type { Tracer } from '#daemon/tracing/tracer.js';

interface WebhookClientSetup {
  readonly values: ApiServerValues;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly random: () => number;
}

interface WebhookClientNeeds {
  readonly reader: ObjectReader;
  readonly resolveName: ResolveName;
  readonly workers: number;
  readonly tracer: Tracer | undefined;
}

/** Calls of one webhook that may be under way where requests are not limited. */
const maxWebhookCalls = 100;

/**
 * One webhook that does not answer holds half of the places that requests have at most: the others are for all others.
 * `workers` servers have these places together.
 */
export function buildWebhookClient(
  { values, dialect, clock, random }: WebhookClientSetup,
  { reader, resolveName, workers, tracer }: WebhookClientNeeds,
): WebhookClient {
  const resolver = new ServiceResolver({ reader, random, toEndpoints: values['enable-aggregator-routing'] });
  const limit = values['max-mutating-requests-inflight'];
  return new WebhookClient({
    clock,
    resolve: (service) => resolver.resolve(service),
    lookup: sharedLookup(resolveName),
    userAgent: `${dialect.components.apiServer}-admission`,
    maxCalls: limit === 0 ? maxWebhookCalls : Math.max(1, Math.floor(limit / 2 / workers)),
    tracer,
  });
}
