/** Removes deleted API servers from storage versions, and deletes storage versions without servers. */
import { storageversions } from '#api/apiserverinternal/v1alpha1/resources.gen.js';
import { withServers } from '#api/apiserverinternal/v1alpha1/storageversion/server-versions.js';
import type { StorageVersion } from '#api/apiserverinternal/v1alpha1/types.gen.js';
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

/** As in 1.24. */
const concurrency = 1;

export class StorageVersionGC implements Controller {
  readonly name = 'storage-version-gc';
  readonly #context: ControllerContext;
  readonly #leases: Informer<Lease>;
  readonly #versions: Informer<StorageVersion>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#leases = sharedInformer(context.informers, leases);
    this.#versions = sharedInformer(context.informers, storageversions);
    this.#loop = new ReconcileLoop(context, { name: this.name, concurrency, reconcile: (key) => this.#reconcile(key) });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (object: StorageVersion) => this.#loop.queue.add(keyOf(object));
    await this.#loop.run(signal, [
      this.#versions.addHandler({ onAdd: add, onUpdate: add }),
      this.#leases.addHandler({
        onDelete: (lease) => {
          if (this.#isIdentity(lease)) for (const object of this.#versions.list()) add(object);
        },
      }),
    ]);
  }

  /** Whether the lease is an API server's identity. */
  #isIdentity({ metadata }: Lease): boolean {
    const { apiDomain, components, namespaces } = this.#context.dialect;
    return (
      metadata.namespace === namespaces.system && metadata.labels?.[`${apiDomain}/component`] === components.apiServer
    );
  }

  async #reconcile(key: string): Promise<Outcome> {
    const object = this.#versions.get(key);
    if (object === undefined) return done;
    const { client, clock } = this.#context;
    const deleted = new Set<string>();
    for (const { apiServerID: id = '' } of object.status?.storageVersions ?? []) {
      if (!(await this.#serverExists(id))) deleted.add(id);
    }
    const remaining = withoutDeletedServers(object, (id) => !deleted.has(id), clock.now());
    if (remaining === undefined) return done;
    const resource = client.resource(storageversions);
    if (remaining !== 'delete') {
      this.#loop.written.wrote(key, this.#versions, await resource.updateStatus(remaining));
      return done;
    }
    const { uid = '', resourceVersion = '' } = object.metadata;
    try {
      await resource.delete(key, { preconditions: { uid, resourceVersion } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    this.#loop.written.deleted(key, this.#versions, object);
    return done;
  }

  /** Confirms with a live read that a lease is missing, because the cache may lag. */
  async #serverExists(id: string): Promise<boolean> {
    const namespace = this.#context.dialect.namespaces.system;
    const cached = this.#leases.get(keyFor(namespace, id));
    if (cached !== undefined) return this.#isIdentity(cached);
    try {
      return this.#isIdentity(await this.#context.client.resource(leases).get(id, { namespace }));
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }
}

/** The object without deleted servers; `delete` when no server is left, undefined when all exist. Pure. */
export function withoutDeletedServers(
  object: StorageVersion,
  exists: (server: string) => boolean,
  now: number,
): StorageVersion | 'delete' | undefined {
  const servers = object.status?.storageVersions ?? [];
  const left = servers.filter(({ apiServerID }) => exists(apiServerID ?? ''));
  if (left.length === servers.length) return undefined;
  return left.length === 0 ? 'delete' : withServers(object, left, now);
}
