/** Which resources 1.24 reads from its cache. */
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { ApiServerValues } from '#apiserver/options/options.js';

interface Named {
  /** Name of the group; empty for core. */
  readonly group: string;
  readonly declaration: Pick<ResourceDeclaration, 'group' | 'resource'>;
}

/** 1.24 does not cache events, which expire. */
export function isUncachedByDefault({ declaration: { group, resource } }: Named): boolean {
  return resource === 'events' && (group === 'core' || group === 'events');
}

export interface WatchCacheOptions {
  readonly isUncached: (resource: Named) => boolean;
  /** Resources with a size above zero, which has no effect: caches size themselves. */
  readonly sized: readonly string[];
}

/** Reads `--watch-cache` and `--watch-cache-sizes`, whose entries are `resource[.group]#size`; the last of a resource counts. */
export function watchCacheOptions(
  values: Pick<ApiServerValues, 'watch-cache' | 'watch-cache-sizes'>,
): WatchCacheOptions {
  if (!values['watch-cache']) return { isUncached: () => true, sized: [] };
  const sizes = new Map(
    values['watch-cache-sizes'].map((text): [string, number] => {
      const at = text.indexOf('#');
      return [text.slice(0, at), Number(text.slice(at + 1))];
    }),
  );
  return {
    isUncached(named) {
      const { group, declaration } = named;
      const size = sizes.get(group === '' ? declaration.resource : `${declaration.resource}.${group}`);
      return size === undefined ? isUncachedByDefault(named) : size === 0;
    },
    sized: [...sizes].flatMap(([resource, size]) => (size > 0 ? [resource] : [])),
  };
}
