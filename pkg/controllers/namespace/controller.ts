/** Empties namespaces that are being deleted, then lets them go. */
import { namespaces } from '#api/core/v1/resources.gen.js';
import type { Namespace } from '#api/core/v1/types.gen.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { deleteContent } from '#controllers/namespace/content.js';
import { isEmpty, nextLookMs, planStatus, type Remains } from '#controllers/namespace/plan.js';

export interface NamespaceOptions {
  /** Namespaces emptied at once. */
  readonly concurrency: number;
  /** After which all of them are looked at again; 0: never. */
  readonly resyncMs: number;
}

export class NamespaceController implements Controller {
  readonly name = 'namespace';
  readonly #context: ControllerContext;
  readonly #options: NamespaceOptions;
  readonly #namespaces: Informer<Namespace>;
  readonly #loop: ReconcileLoop;
  /** Looks at namespaces that were not empty yet, by UID. */
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
    return requeueAfter(nextLookMs(attempts));
  }

  #isOurs(namespace: Namespace): boolean {
    return namespace.spec.finalizers?.includes(this.#context.dialect.namespaceFinalizer) ?? false;
  }

  /** The namespace as it is now, undefined when it is gone. */
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
