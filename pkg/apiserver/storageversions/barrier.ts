/**
 * Keeps objects from being written in a version before the StorageVersions say that this server writes it: whoever migrates
 * stored objects would not know of it. As 1.24 does for built-in resources, and likewise for custom ones.
 */
import type { StorageVersion } from '#api/apiserverinternal/v1alpha1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { recordName } from '#apiserver/storageversions/records.js';
import type { ResourceStorage } from '#storage/resource-storage.js';

export interface StorageVersionBarrierOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** The server's identity. */
  readonly id: string;
  readonly versions: ResourceStorage;
  /** False for what has no objects in the store. */
  readonly isStored: (resource: ServedResource) => boolean;
}

const writes: ReadonlySet<string> = new Set(['create', 'update', 'patch']);
/** A new definition's version is on record in no time; its first objects wait instead of failing. */
const patienceMs = 1000;
const lookMs = 20;

export class StorageVersionBarrier {
  readonly #options: StorageVersionBarrierOptions;
  /** Names and versions that were on record once. */
  readonly #passed = new Set<string>();
  /** Why records could not be written. */
  readonly #failures = new Map<string, string>();

  constructor(options: StorageVersionBarrierOptions) {
    this.#options = options;
  }

  /** Of the last try. */
  failed(name: string, reason: string | undefined): void {
    if (reason === undefined) this.#failures.delete(name);
    else this.#failures.set(name, reason);
  }

  /** Whether the resource's version is to be on record at all. */
  concerns(resource: ServedResource): boolean {
    return this.#options.isStored(resource);
  }

  /** Undefined: the request may go on at once. Throws or rejects with 503 where it may not. */
  admit({ info, user }: Pick<RequestContext, 'info' | 'user'>, resource: ServedResource): Promise<void> | undefined {
    if (!writes.has(info.verb)) return undefined;
    const version = this.#pending(resource);
    if (version === undefined) return undefined;
    const { dialect } = this.#options;
    // What it takes to get on record.
    const { group, resource: name } = resource.qualified;
    if (name === 'storageversions' && group === dialect.groupName('apiserverinternal')) return undefined;
    if (name === 'leases' && group === dialect.groupName('coordination')) return undefined;
    const own = info.verb === 'create' && user.name === dialect.users.apiServer;
    if (name === 'namespaces' && group === '' && own) return undefined;
    if ('kindInfo' in resource) return this.#wait(resource);
    throw this.#refusal(resource);
  }

  async #wait(resource: ServedResource): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.monotonic();
    while (this.#pending(resource) !== undefined) {
      if (clock.monotonic() - startedMs > patienceMs) throw this.#refusal(resource);
      await clock.sleep(lookMs);
    }
  }

  #refusal({ qualified: { group, resource } }: ServedResource): Error {
    const shown = group === '' ? resource : `${resource}.${group}`;
    const failure = this.#failures.get(recordName(group, resource)) ?? '<nil>';
    return serviceUnavailable(
      `wait for storage version registration to complete for resource: ${shown}, last seen error: ${failure}`,
    );
  }

  /** What is not on record yet. */
  #pending(resource: ServedResource): string | undefined {
    const { id, versions, isStored } = this.#options;
    if (!isStored(resource)) return undefined;
    const name = recordName(resource.group, resource.declaration.resource);
    const { apiVersion } = resource.stored;
    const key = `${name} ${apiVersion}`;
    if (this.#passed.has(key)) return undefined;
    const entry = versions.ready() ? versions.cached(name) : undefined;
    const servers = (entry?.object() as StorageVersion | undefined)?.status?.storageVersions ?? [];
    const own = servers.find(({ apiServerID }) => apiServerID === id);
    if (own?.encodingVersion !== apiVersion) return key;
    // Of a custom resource no more than one version counts, the one that is written now.
    for (const other of this.#passed) if (other.startsWith(`${name} `)) this.#passed.delete(other);
    this.#passed.add(key);
    return undefined;
  }
}
