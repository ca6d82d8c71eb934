/** Puts storage under every resource of the scheme. Versions and groups that share a stored form share a cache. */
import type { Strategy } from '#api/strategy.js';
import type { Clock } from '#apimachinery/clock.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { ResourceInfo, Scheme } from '#apimachinery/schema/scheme.js';
import type { Conversion, ServedResource } from '#apiserver/registry/served-resource.js';
import type { Logger } from '#daemon/log/logger.js';
import { WatchCache } from '#storage/cache/watch-cache.js';
import type { StorageMetrics } from '#storage/metrics.js';
import type { Store } from '#storage/store.js';

export interface StoredResource {
  readonly cache: WatchCache;
  /** All versions that are served of it. */
  readonly served: readonly ServedResource[];
}

export interface BuildOptions {
  readonly scheme: Scheme;
  readonly store: Store;
  /** `/registry`. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: StorageMetrics;
  readonly strategyFor: (declaration: ResourceDeclaration) => Strategy;
  readonly eventTTLSeconds: number;
  /** Between a served version and the stored one; undefined where they are the same. */
  readonly conversionFor?: (served: ResourceDeclaration, stored: ResourceDeclaration) => Conversion | undefined;
}

/** Resources that are served in several forms: which one is stored. */
const storedForms: Readonly<Record<string, { readonly group: string; readonly version: string }>> = {
  events: { group: 'core', version: 'v1' },
  horizontalpodautoscalers: { group: 'autoscaling', version: 'v2' },
};

export function buildResources(options: BuildOptions): StoredResource[] {
  const byResource = new Map<string, ResourceInfo[]>();
  for (const info of options.scheme.resources) {
    const name = info.declaration.resource;
    byResource.set(name, [...(byResource.get(name) ?? []), info]);
  }
  return [...byResource.values()].map((versions) => build(options, versions));
}

function build(options: BuildOptions, versions: readonly ResourceInfo[]): StoredResource {
  const [first] = versions;
  if (first === undefined) throw new RangeError('a resource without versions');
  const name = first.declaration.resource;
  const form = storedForms[name];
  const stored = versions.find(({ declaration: d }) => d.group === form?.group && d.version === form.version) ?? first;
  const { store, clock, random, log, metrics } = options;
  const resource = stored.groupName === '' ? name : `${name}.${stored.groupName}`;
  const cache = new WatchCache({ store, clock, random, log, metrics, resource, prefix: `${options.prefix}/${name}/` });
  return { cache, served: versions.map((info) => serve(options, info, stored, cache)) };
}

function serve(options: BuildOptions, info: ResourceInfo, stored: ResourceInfo, storage: WatchCache): ServedResource {
  const { declaration, groupName, apiVersion } = info;
  const conversion = info === stored ? undefined : options.conversionFor?.(declaration, stored.declaration);
  return {
    declaration,
    group: groupName,
    apiVersion,
    qualified: { group: groupName, resource: declaration.resource },
    strategy: options.strategyFor(declaration),
    storage,
    storedAs: `${stored.apiVersion}/${stored.declaration.kind}`,
    ...(conversion === undefined ? {} : { conversion }),
    ...(declaration.resource === 'events' ? { ttlSeconds: options.eventTTLSeconds } : {}),
  };
}
