/** Discovery of the resources of a kind that some object names, cached for a while. */
import type { APIGroup, APIGroupList, APIResource, APIResourceList } from '#api/meta/v1/types.gen.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import { pathSegment } from '#client/rest/paths.js';
import type { ControllerContext } from '#controllers/framework/context.js';

export interface ServedKind {
  readonly group: string;
  /** Plural. */
  readonly resource: string;
  /** Of its version: `/apis/apps/v1`. */
  readonly base: string;
}

/** Answers are cached for this long, since kinds come and go; as the REST mapper of 1.24 does. */
const knownMs = 30_000;
/** A limit is needed since any user can write objects that name group versions. */
const maxGroupVersions = 64;

export class ServedKinds {
  readonly #client: ControllerContext['client'];
  readonly #groups: LruCache<'groups', readonly APIGroup[]>;
  readonly #resources: LruCache<string, readonly APIResource[]>;

  constructor({ client, clock }: Pick<ControllerContext, 'client' | 'clock'>) {
    this.#client = client;
    const age = { clock, ttlMs: () => knownMs };
    this.#groups = new LruCache({ limit: 1, age });
    this.#resources = new LruCache({ limit: maxGroupVersions, age });
  }

  /** All but the core group, which has no name. */
  async groups(): Promise<readonly APIGroup[]> {
    const known = this.#groups.get('groups');
    if (known !== undefined) return known;
    const { groups } = await this.#client.request<APIGroupList>('GET', '/apis');
    this.#groups.set('groups', groups);
    return groups;
  }

  /** Of a group version (`v1`, `apps/v1`). Throws what the server answers. */
  async resources(groupVersion: string): Promise<readonly APIResource[]> {
    const known = this.#resources.get(groupVersion);
    if (known !== undefined) return known;
    const { resources } = await this.#client.request<APIResourceList>('GET', basePath(groupVersion));
    this.#resources.set(groupVersion, resources ?? []);
    return resources ?? [];
  }

  /**
   * The resources of a kind, each in the group's preferred version if that has it. A version that does not answer is
   * skipped if another one has the kind. Throws, with the message of 1.24, if there is none.
   */
  async ofKind(group: string, kind: string): Promise<readonly [ServedKind, ...ServedKind[]]> {
    const found = new Map<string, ServedKind>();
    const failures: unknown[] = [];
    for (const groupVersion of await this.#versions(group)) {
      const resources = await this.resources(groupVersion).catch((error: unknown) => {
        failures.push(error);
        return [];
      });
      for (const { name, kind: its } of resources) {
        if (its !== kind || name.includes('/') || found.has(name)) continue;
        found.set(name, { group, resource: name, base: basePath(groupVersion) });
      }
    }
    const [first, ...others] = found.values();
    if (first === undefined && failures.length > 0) throw failures[0];
    if (first === undefined) throw new Error(`no matches for kind "${kind}" in group "${group}"`);
    return [first, ...others];
  }

  /** Group versions, the preferred one first. */
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
