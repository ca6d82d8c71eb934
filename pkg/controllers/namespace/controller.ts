/** Empties namespaces that are being deleted, then removes their finalizer. */
import { namespaces } from '#api/core/v1/resources.gen.js';
import type { Namespace } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { discoverResources } from '#controllers/framework/discovery.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { isEmpty, nextAttemptMs, planStatus, type Remains } from '#controllers/namespace/plan.js';

export interface NamespaceOptions {
  readonly concurrency: number;
  /** The resync interval; 0: never. */
  readonly resyncMs: number;
}

export class NamespaceController implements Controller {
  readonly name = 'namespace';
  readonly #context: ControllerContext;
  readonly #options: NamespaceOptions;
  readonly #namespaces: Informer<Namespace>;
  readonly #loop: ReconcileLoop;
  /** The number of attempts to empty a namespace, by UID. */
  readonly #attempts = new Map<string, number>();

  constructor(context: ControllerContext, options: NamespaceOptions) {
    this.#context = context;
    this.#options = options;
    this.#namespaces = sharedInformer(context.informers, namespaces);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency: options.concurrency,
      reconcile: (name, signal) => this.#reconcile(name, signal),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (namespace: Namespace) => {
      if (namespace.metadata.deletionTimestamp !== undefined) this.#loop.queue.add(keyOf(namespace));
    };
    await this.#loop.run(signal, [
      this.#namespaces.addHandler(
        { onAdd: add, onUpdate: add, onDelete: ({ metadata }) => this.#attempts.delete(metadata.uid ?? '') },
        { resyncMs: this.#options.resyncMs },
      ),
    ]);
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<Outcome> {
    const cached = this.#namespaces.get(name);
    if (cached?.metadata.deletionTimestamp === undefined) return done;
    if (!this.#isOurs(cached)) return done;
    let namespace = await this.#writeStatus(cached, undefined);
    if (namespace === undefined) return done;
    const remains = await deleteContent(this.#context.client, name, signal);
    namespace = await this.#writeStatus(namespace, remains);
    if (namespace === undefined) return done;
    if (isEmpty(remains)) {
      await this.#finalize(namespace);
      return done;
    }
    const uid = namespace.metadata.uid ?? '';
    const attempts = this.#attempts.get(uid) ?? 0;
    this.#attempts.set(uid, attempts + 1);
    return requeueAfter(nextAttemptMs(attempts));
  }

  #isOurs(namespace: Namespace): boolean {
    return namespace.spec.finalizers?.includes(this.#context.dialect.namespaceFinalizer) ?? false;
  }

  /** Returns the new version; undefined when the namespace no longer exists. */
  async #writeStatus(namespace: Namespace, remains: Remains | undefined): Promise<Namespace | undefined> {
    const { client, clock } = this.#context;
    const resource = client.resource(namespaces);
    let current = namespace;
    for (;;) {
      const status = planStatus(current, remains, clock.now());
      if (status === undefined) return current;
      try {
        return await resource.updateStatus({ ...current, status });
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (!isConflict(error)) throw error;
      }
      const live = await this.#live(namespace);
      if (live === undefined) return undefined;
      current = live;
    }
  }

  async #live(namespace: Namespace): Promise<Namespace | undefined> {
    try {
      const live = await this.#context.client.resource(namespaces).get(namespace.metadata.name ?? '');
      return live.metadata.uid === namespace.metadata.uid ? live : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #finalize(namespace: Namespace): Promise<void> {
    const { client, dialect } = this.#context;
    const finalizers = (namespace.spec.finalizers ?? []).filter((each) => each !== dialect.namespaceFinalizer);
    try {
      const spec = { ...namespace.spec, finalizers };
      await client.resource(namespaces).update({ ...namespace, spec }, { subresource: 'finalize' });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    this.#attempts.delete(namespace.metadata.uid ?? '');
  }
}

/** The number of resources that are emptied concurrently. */
const maxConcurrentResources = 8;

/** Deletes everything in the namespace and counts the remaining objects. */
async function deleteContent(client: Client, namespace: string, signal: AbortSignal): Promise<Remains> {
  const { resources, failures } = await discoverResources(client, signal);
  const counts = new Map<string, number>();
  const finalizers = new Map<string, number>();
  const contentFailures: string[] = [];
  const todo = resources.filter((type) => type.namespaced && type.verbs.includes('delete')).reverse();
  const work = async () => {
    for (let type = todo.pop(); type !== undefined; type = todo.pop()) {
      const name = qualifiedName(client, type);
      try {
        const left = await deleteAll(client, type, namespace, signal);
        if (left.length > 0) counts.set(name, left.length);
        for (const finalizer of left.flatMap((object) => object.metadata.finalizers ?? [])) {
          finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
        }
      } catch (error) {
        contentFailures.push(`${name}: ${messageOf(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: maxConcurrentResources }, work));
  return {
    counts,
    finalizers,
    discoveryFailures: new Map([...failures].map(([group, error]) => [group, messageOf(error)])),
    contentFailures: contentFailures.sort(),
  };
}

function qualifiedName(client: Client, type: ResourceType<ApiObject>): string {
  const group = client.dialect.groupName(type.group);
  return group === '' ? type.resource : `${type.resource}.${group}`;
}

/** Deletes all objects of the type, and returns the remaining ones. */
async function deleteAll(
  client: Client,
  type: ResourceType<ApiObject>,
  namespace: string,
  signal: AbortSignal,
): Promise<ApiObject[]> {
  if (!type.verbs.includes('list')) return [];
  const resource = client.resource(type);
  const options = { namespace, propagationPolicy: 'Background' as const, signal };
  const existing = (await resource.list({ namespace, signal })).items;
  if (existing.length === 0) return [];
  // Objects in deletion wait for their finalizers; deleting them again does not help.
  const undeleted = existing.filter((object) => object.metadata.deletionTimestamp === undefined);
  if (undeleted.length === 0) return existing;
  if (type.verbs.includes('deletecollection')) await resource.deleteCollection(options);
  else {
    for (const { metadata } of undeleted) {
      try {
        await resource.delete(metadata.name ?? '', options);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  }
  return (await resource.list({ namespace, signal })).items;
}
