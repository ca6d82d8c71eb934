/** The resources that the server serves: the enabled ones of its scheme, and those that definitions add while it runs. */
import { schemeFor } from '#api/scheme.js';
import { strategyFor } from '#api/strategies.js';
import type { Strategy } from '#api/strategy/strategy.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { ResourceInfo, Scheme } from '#apimachinery/schema/scheme.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import { ConversionMetrics } from '#apiserver/customresources/conversion-metrics.js';
import { CustomResources } from '#apiserver/customresources/follow-definitions.js';
import { RequestMetrics } from '#apiserver/http/request-metrics.js';
import { StorageObjectReader } from '#apiserver/objects/storage-object-reader.js';
import { Codec } from '#apiserver/resources/codec.js';
import { ResourceTable } from '#apiserver/resources/resource-table.js';
import { serveResources } from '#apiserver/resources/serve-resources.js';
import type { ResourceStorages } from '#apiserver/resources/storages.js';
import type { WebhookClient } from '#apiserver/webhooks/webhook-client.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { ResourceStorage } from '#storage/resource-storage.js';

export interface ResourceParts {
  /** Authenticator, authorizer and admission read from them, too. The server starts and closes them. */
  readonly storages: ResourceStorages;
  /** True when the feature gate is on; absent: as the release has them. */
  readonly gate?: (name: string) => boolean;
  /** False for versions and resources that are turned off; absent: none is. */
  readonly isEnabled?: (info: ResourceInfo) => boolean;
  /** Absent: the kinds' own. */
  readonly strategyFor?: (resource: ResourceDeclaration) => Strategy;
  /** By group and name: resources whose objects are computed when they are read, such as `core/componentstatuses`. */
  readonly unstored?: ReadonlyMap<string, ResourceStorage>;
  /** For webhooks that convert custom resources; admission shares it. The server closes it. */
  readonly webhooks: Pick<WebhookClient, 'post' | 'close'>;
}

export interface ResourceSet {
  readonly scheme: Scheme;
  readonly codec: Codec;
  readonly table: ResourceTable;
  readonly definitions: CustomResources;
  readonly metrics: RequestMetrics;
  readonly gate: (name: string) => boolean;
}

export function buildResources(
  { dialect, clock, turns, log, newUID, metrics: registry }: ServerEnvironment,
  parts: ResourceParts,
  { eventTTLSeconds }: { readonly eventTTLSeconds: number },
): ResourceSet {
  const { storages } = parts;
  const gates = new FeatureGates();
  const gate = parts.gate ?? ((name: string) => gates.enabled(name as FeatureGateName));
  const scheme = schemeFor(dialect);
  const table = new ResourceTable();
  const codec = new Codec(scheme, table);
  const metrics = new RequestMetrics({
    registry,
    isServed: (info) => table.serves(info.group, info.version, info.resource, info.subresource),
  });
  const served = serveResources({
    scheme,
    codec,
    storages,
    unstored: parts.unstored ?? new Map(),
    strategyFor: parts.strategyFor ?? strategyFor,
    eventTTLSeconds,
    gate,
    isEnabled: parts.isEnabled,
  });
  for (const resource of served) table.add(resource);
  const definitions = new CustomResources({
    scheme,
    table,
    storages,
    reader: new StorageObjectReader({ storageOf: (resource) => storages.find(resource), turns, clock, log }),
    log,
    metrics,
    webhooks: { dialect, client: parts.webhooks, newUID, clock, turns, metrics: new ConversionMetrics(registry) },
  });
  return { scheme, codec, table, definitions, metrics, gate };
}
