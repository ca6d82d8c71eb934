/**
 * What requests of late said, parsed: clients send few different queries again and again, watches keep theirs as long as
 * they last, and most requests are for one object of a collection that was asked for a moment ago. What comes out is shared,
 * and only read.
 */
import type { Collection, Recent, RequestInfo } from '#apiserver/http/request-info.js';

/** Of each kind. */
const most = 256;

export class RecentRequests implements Recent {
  readonly #queries = new Map<string, URLSearchParams>();
  /** By the paths of their objects, up to the names. */
  readonly #collections = new Map<string, Collection>();

  parseQuery(text: string): URLSearchParams {
    let query = this.#queries.get(text);
    if (query === undefined) {
      query = new URLSearchParams(text);
      remember(this.#queries, text, query);
    }
    return query;
  }

  collectionOf(path: string): Collection | undefined {
    return this.#collections.get(collectionPath(path));
  }

  found({ path, verb, group, version, namespace, resource, subresource, name, address }: RequestInfo): void {
    const before = collectionPath(path);
    // Below `/watch/` everything is a watch, and a namespace is in the namespace of its name.
    const named = address.named && !address.broken && verb !== 'watch' && namespace !== name;
    if (before === '' || !named || subresource !== '') return;
    remember(this.#collections, before, { group, version, namespace, resource, address });
  }
}

/** With a slash at its end; empty for what cannot be the path of an object as it is. */
function collectionPath(path: string): string {
  const nameAt = path.lastIndexOf('/') + 1;
  return nameAt === path.length || path.includes('%') ? '' : path.slice(0, nameAt);
}

function remember<T>(recent: Map<string, T>, text: string, value: T): void {
  if (recent.size >= most) recent.clear();
  recent.set(text, value);
}
