/**
 * Blocks writes of objects in a version that the StorageVersions do not list for this server yet: a migration of stored
 * objects would miss them. As in 1.24 for built-in resources, and also for custom ones.
 */
import type { StorageVersion } from '#api/apiserverinternal/v1alpha1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { recordName } from '#apiserver/storageversions/version-records.js';
import type { ResourceStorage } from '#storage/resource-storage.js';

export interface StorageVersionBarrierOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** The server's identity. */
  readonly id: string;
  readonly versions: ResourceStorage;
  /** False for resources without stored objects. */
  readonly isStored: (resource: ServedResource) => boolean;
}

const writes: ReadonlySet<string> = new Set(['create', 'update', 'patch']);
/** A new definition's version is recorded quickly, so its first objects wait instead of failing. */
const waitMs = 1000;
const pollMs = 20;

export class StorageVersionBarrier {
  readonly #options: StorageVersionBarrierOptions;
  /** Names with versions that have been recorded. */
  readonly #recorded = new Set<string>();
  /** Reasons why records could not be written, by name. */
  readonly #failures = new Map<string, string>();

  constructor(options: StorageVersionBarrierOptions) {
    this.#options = options;
  }

  /** Stores the result of the last attempt; undefined: success. */
  failed(name: string, reason: string | undefined): void {
    if (reason === undefined) this.#failures.delete(name);
    else this.#failures.set(name, reason);
  }

  /** True if the resource's version must be recorded. */
  concerns(resource: ServedResource): boolean {
    return this.#options.isStored(resource);
  }

  /** Undefined: the request may proceed. Throws or rejects with 503 otherwise. */
  admit({ info, user }: Pick<RequestContext, 'info' | 'user'>, resource: ServedResource): Promise<void> | undefined {
    if (!writes.has(info.verb)) return undefined;
    const version = this.#pending(resource);
    if (version === undefined) return undefined;
    const { dialect } = this.#options;
    // Let writes pass that recording itself needs.
    const { group, resource: name } = resource.qualified;
    if (name === 'storageversions' && group === dialect.groupName('apiserverinternal')) return undefined;
    if (name === 'leases' && group === dialect.groupName('coordination')) return undefined;
    const isOwnRequest = info.verb === 'create' && user.name === dialect.users.apiServer;
    if (name === 'namespaces' && group === '' && isOwnRequest) return undefined;
    if ('kindInfo' in resource) return this.#wait(resource);
    throw this.#refusal(resource);
  }

  async #wait(resource: ServedResource): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.monotonic();
    while (this.#pending(resource) !== undefined) {
      if (clock.monotonic() - startedMs > waitMs) throw this.#refusal(resource);
      await clock.sleep(pollMs);
    }
  }

  #refusal({ qualified: { group, resource } }: ServedResource): Error {
    const shown = group === '' ? resource : `${resource}.${group}`;
    const failure = this.#failures.get(recordName(group, resource)) ?? '<nil>';
    return serviceUnavailable(
      `wait for storage version registration to complete for resource: ${shown}, last seen error: ${failure}`,
    );
  }

  /** The resource's version if it is not recorded yet. */
  #pending(resource: ServedResource): string | undefined {
    const { id, versions, isStored } = this.#options;
    if (!isStored(resource)) return undefined;
    const name = recordName(resource.group, resource.declaration.resource);
    const { apiVersion } = resource.stored;
    const key = `${name} ${apiVersion}`;
    if (this.#recorded.has(key)) return undefined;
    const entry = versions.ready() ? versions.cached(name) : undefined;
    const servers = (entry?.object() as StorageVersion | undefined)?.status?.storageVersions ?? [];
    const ownVersion = servers.find(({ apiServerID }) => apiServerID === id);
    if (ownVersion?.encodingVersion !== apiVersion) return key;
    // Only the version now written counts for a custom resource.
    for (const other of this.#recorded) if (other.startsWith(`${name} `)) this.#recorded.delete(other);
    this.#recorded.add(key);
    return undefined;
  }
}
