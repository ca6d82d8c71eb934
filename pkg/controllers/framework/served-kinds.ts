/** Finds the resources that serve a kind named by an object, with a cache of discovery documents. */
import type { APIGroup, APIGroupList, APIResource, APIResourceList } from '#api/meta/v1/types.gen.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import { pathSegment } from '#client/rest/paths.js';
import type { ControllerContext } from '#controllers/framework/context.js';

export interface ServedKind {
  readonly group: string;
  /** Plural. */
  readonly resource: string;
  /** The path of its version: `/apis/apps/v1`. */
  readonly base: string;
}

/** The lifetime of cached documents, as in the REST mapper of 1.24. */
const cacheMs = 30_000;
/** Limits the cache, because users can name any group version in objects. */
const maxGroupVersions = 64;

export class ServedKinds {
  readonly #client: ControllerContext['client'];
  readonly #groups: LruCache<'groups', readonly APIGroup[]>;
  readonly #resources: LruCache<string, readonly APIResource[]>;

  constructor({ client, clock }: Pick<ControllerContext, 'client' | 'clock'>) {
    this.#client = client;
    const age = { clock, ttlMs: () => cacheMs };
    this.#groups = new LruCache({ limit: 1, age });
    this.#resources = new LruCache({ limit: maxGroupVersions, age });
  }

  /** All groups except the core group, which has no name. */
  async groups(): Promise<readonly APIGroup[]> {
    const cached = this.#groups.get('groups');
    if (cached !== undefined) return cached;
    const { groups } = await this.#client.request<APIGroupList>('GET', '/apis');
    this.#groups.set('groups', groups);
    return groups;
  }

  /** Resources of a group version (`v1`, `apps/v1`). Throws the server's error. */
  async resources(groupVersion: string): Promise<readonly APIResource[]> {
    const cached = this.#resources.get(groupVersion);
    if (cached !== undefined) return cached;
    const { resources } = await this.#client.request<APIResourceList>('GET', basePath(groupVersion));
    this.#resources.set(groupVersion, resources ?? []);
    return resources ?? [];
  }

  /**
   * The resources of a kind, each in the group's preferred version if that serves it. A version that cannot be read is
   * skipped if another version serves the kind. Throws, with the message of 1.24, if no version does.
   */
  async ofKind(group: string, kind: string): Promise<readonly [ServedKind, ...ServedKind[]]> {
    const served = new Map<string, ServedKind>();
    const failures: unknown[] = [];
    for (const groupVersion of await this.#versions(group)) {
      const resources = await this.resources(groupVersion).catch((error: unknown) => {
        failures.push(error);
        return [];
      });
      for (const resource of resources) {
        const { name } = resource;
        if (resource.kind !== kind || name.includes('/') || served.has(name)) continue;
        served.set(name, { group, resource: name, base: basePath(groupVersion) });
      }
    }
    const [first, ...others] = served.values();
    if (first === undefined && failures.length > 0) throw failures[0];
    if (first === undefined) throw new Error(`no matches for kind "${kind}" in group "${group}"`);
    return [first, ...others];
  }

  /** The group's versions, the preferred version first. */
  async #versions(group: string): Promise<readonly string[]> {
    if (group === '') return ['v1'];
    const { versions = [], preferredVersion } = (await this.groups()).find(({ name }) => name === group) ?? {};
    const all = [preferredVersion, ...versions].flatMap((version) => version?.groupVersion ?? []);
    return [...new Set(all)];
  }
}

/** `/api/v1`, `/apis/apps/v1`. */
export function basePath(groupVersion: string): string {
  const path = groupVersion.split('/').map(pathSegment).join('/');
  return groupVersion.includes('/') ? `/apis/${path}` : `/api/${path}`;
}
