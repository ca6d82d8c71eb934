import type { Dialect } from '#apimachinery/dialect.js';
import type { Requests } from '#dashboard/live/requests.js';
import { Catalog, dialectOf, type GroupList, kindsOf, type ResourceList } from '#dashboard/model/catalog.js';

export interface Discovery {
  readonly dialect: Dialect;
  readonly catalog: Catalog;
}

/**
 * Each group in its preferred version, and in others the kinds that only they have. `onDialect` is told the dialect first, which one
 * request finds out, so that pages which need no more are shown at once.
 */
export async function discover(requests: Requests, onDialect: (first: Discovery) => void): Promise<Discovery> {
  const list = await requests.json<GroupList>('/apis');
  onDialect({ dialect: dialectOf(list), catalog: new Catalog([]) });
  const versions = list.groups.flatMap(({ preferredVersion, versions: all }) => {
    const first = preferredVersion?.groupVersion;
    return [...new Set([...(first === undefined ? [] : [first]), ...all.map(({ groupVersion }) => groupVersion)])];
  });
  const paths = ['/api/v1', ...versions.map((version) => `/apis/${version}`)];
  // An extension's server that does not answer hides its own kinds only.
  const lists = await Promise.all(
    paths.map((path) => requests.json<ResourceList>(path).catch((): undefined => undefined)),
  );
  const kinds = new Map<string, ReturnType<typeof kindsOf>[number]>();
  for (const each of lists) {
    for (const kind of each === undefined ? [] : kindsOf(each)) {
      const place = `${kind.group}/${kind.resource}`;
      if (!kinds.has(place)) kinds.set(place, kind);
    }
  }
  return { dialect: dialectOf(list), catalog: new Catalog([...kinds.values()]) };
}
