/** Combines declaration, strategy and storage into the served resources of a scheme. */
import type { Strategy } from '#api/strategy/strategy.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { ResourceInfo, Scheme } from '#apimachinery/schema/scheme.js';
import type { Codec } from '#apiserver/resources/codec.js';
import { EmptyStorage } from '#apiserver/resources/empty-storage.js';
import { inProcess } from '#apiserver/resources/served-conversion.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { isServed, type ResourceStorages } from '#apiserver/resources/storages.js';
import type { ResourceStorage } from '#storage/resource-storage.js';

export interface ServeOptions {
  readonly scheme: Scheme;
  readonly codec: Codec;
  readonly storages: ResourceStorages;
  /** By group and name (`core/componentstatuses`): resources whose objects are computed when they are read. */
  readonly unstored: ReadonlyMap<string, ResourceStorage>;
  readonly strategyFor: (declaration: ResourceDeclaration) => Strategy;
  readonly eventTTLSeconds: number;
  /** True when the feature gate is on. */
  readonly gate: (name: string) => boolean;
  /** False for disabled resources; absent: all are enabled. */
  readonly isEnabled?: ((info: ResourceInfo) => boolean) | undefined;
}

export function serveResources(options: ServeOptions): ServedResource[] {
  return options.scheme.resources
    .filter((info) => isServed(info.declaration, options.gate) && (options.isEnabled?.(info) ?? true))
    .map((info) => serve(options, info));
}

function serve(options: ServeOptions, info: ResourceInfo): ServedResource {
  const { declaration, groupName, apiVersion } = info;
  const stored = options.storages.storedForm(declaration) ?? info;
  const strategy = options.strategyFor(declaration);
  const storedVersion = {
    apiVersion: stored.apiVersion,
    kind: stored.declaration.kind,
    type: stored.type,
    strategy: stored === info ? strategy : options.strategyFor(stored.declaration),
  };
  const { conversion } = strategy;
  const { codec, gate } = options;
  return {
    declaration,
    group: groupName,
    apiVersion,
    qualified: { group: groupName, resource: declaration.resource },
    strategy,
    storage:
      options.storages.find(declaration) ??
      options.unstored.get(`${declaration.group}/${declaration.resource}`) ??
      new EmptyStorage({ group: groupName, resource: declaration.resource }),
    type: info.type,
    stored: storedVersion,
    ...(conversion && { conversion: inProcess(conversion, storedVersion, { codec, gate }) }),
    ...(storedVersion.strategy.lifetime === 'events' ? { ttlSeconds: options.eventTTLSeconds } : {}),
  };
}
