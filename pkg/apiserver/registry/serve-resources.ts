/** Puts strategy and storage together for every resource of the scheme. */
import type { Strategy } from '#api/strategy.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { ResourceInfo, Scheme } from '#apimachinery/schema/scheme.js';
import { EmptyStorage } from '#apiserver/registry/empty-storage.js';
import { isServed } from '#apiserver/registry/gated-resource.js';
import type { Conversion, ServedResource } from '#apiserver/registry/served-resource.js';
import type { ResourceStorages } from '#apiserver/registry/storages.js';
import type { ResourceStorage } from '#storage/resource-storage.js';

export interface ServeOptions {
  readonly scheme: Scheme;
  readonly storages: ResourceStorages;
  /** By name: resources whose objects are made up when they are read. */
  readonly unstored: ReadonlyMap<string, ResourceStorage>;
  readonly strategyFor: (declaration: ResourceDeclaration) => Strategy;
  /** Between a served version and the stored one; undefined where their objects are the same. */
  readonly conversionFor: (served: ResourceInfo, stored: ResourceInfo) => Conversion | undefined;
  readonly eventTTLSeconds: number;
  /** True when the feature gate is on. */
  readonly gate: (name: string) => boolean;
  /** False for what is turned off; absent: nothing is. */
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
  const conversion = info === stored ? undefined : options.conversionFor(info, stored);
  return {
    declaration,
    group: groupName,
    apiVersion,
    qualified: { group: groupName, resource: declaration.resource },
    strategy: options.strategyFor(declaration),
    storage:
      options.storages.find(declaration) ??
      options.unstored.get(declaration.resource) ??
      new EmptyStorage({ group: groupName, resource: declaration.resource }),
    storedAs: `${stored.apiVersion}/${stored.declaration.kind}`,
    ...(conversion === undefined ? {} : { conversion }),
    ...(declaration.resource === 'events' ? { ttlSeconds: options.eventTTLSeconds } : {}),
  };
}
