/** Finds the resource of a kind: among the server's own, custom ones included, and those of extension API servers. */
import type { Clock } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import { parseGroupVersion } from '#apimachinery/group-version.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import type { Client } from '#client/client.js';
import { isPlain } from '#daemon/options/config-decode.js';

/** Where objects of a kind are served. */
export interface RestMapping {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespaced: boolean;
}

interface ServedKind {
  readonly kind: string;
  readonly resource: string;
  readonly namespaced: boolean;
}

export interface RestMapperOptions {
  readonly clock: Clock;
  /** A client of this server, which reaches the extension API servers through it. */
  readonly client: () => Client;
}

/** As long as 1.24 keeps what it discovered. */
const ttlMs = 30_000;
const maxVersions = 256;
const timeoutMs = 5000;
const maxBytes = 1024 * 1024;

export class RestMapper {
  readonly #options: RestMapperOptions;
  /** Kinds of extension API servers by their version; saves a request for each owner. */
  readonly #foreign: LruCache<string, Promise<readonly ServedKind[]>>;

  constructor(options: RestMapperOptions) {
    this.#options = options;
    this.#foreign = new LruCache({ limit: maxVersions, age: { clock: options.clock, ttlMs: () => ttlMs } });
  }

  /** Undefined if no such kind is served. */
  async find(resources: ResourceTable, apiVersion: string, kind: string): Promise<RestMapping | undefined> {
    const { group, version } = parseGroupVersion(apiVersion);
    const own = [...resources.of(group, version)].map(({ declaration }) => declaration);
    const kinds = own.length > 0 || group === '' ? own : await this.#foreignKinds(group, version);
    if (kinds.length === 0) return undefined;
    // Like 1.24, finds kinds in lower case, and guesses resources for the kinds of lists.
    const served = kinds.find((one) => [one.kind, `${one.kind}List`, one.kind.toLowerCase()].includes(kind));
    if (served === undefined)
      return kind === 'List' ? { group, version, resource: 'lists', namespaced: false } : undefined;
    const isList = kind === `${served.kind}List`;
    const resource = isList ? `${served.kind.toLowerCase()}lists` : served.resource;
    return { group, version, resource, namespaced: served.namespaced };
  }

  #foreignKinds(group: string, version: string): Promise<readonly ServedKind[]> {
    const key = `${group}/${version}`;
    const cached = this.#foreign.get(key);
    if (cached !== undefined) return cached;
    const kinds = this.#discover(`/apis/${encodeURIComponent(group)}/${encodeURIComponent(version)}`);
    this.#foreign.set(key, kinds);
    return kinds;
  }

  /** None if the version is not served or its server does not answer in time. */
  async #discover(path: string): Promise<readonly ServedKind[]> {
    const ending = new AbortController();
    const timer = this.#options.clock.setTimer(() => ending.abort(), timeoutMs);
    try {
      const list = await this.#options.client().request<unknown>('GET', path, undefined, {
        signal: ending.signal,
        maxBytes,
      });
      return kindsIn(list);
    } catch {
      // 1.24 ignores groups that it cannot discover: their kinds have no mapping.
      return [];
    } finally {
      timer.cancel();
    }
  }
}

/** The resources of an APIResourceList from an untrusted server, without subresources. */
function kindsIn(list: unknown): readonly ServedKind[] {
  const resources = isPlain(list) && Array.isArray(list['resources']) ? (list['resources'] as readonly unknown[]) : [];
  return resources.flatMap((item) => {
    if (!isPlain(item)) return [];
    const { name, kind, namespaced } = item;
    if (typeof name !== 'string' || typeof kind !== 'string' || name.includes('/')) return [];
    return [{ kind, resource: name, namespaced: namespaced === true }];
  });
}
