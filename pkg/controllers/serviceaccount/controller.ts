/** Creates the default service account in each namespace, and recreates it after a deletion. */
import { namespaces, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Namespace, ServiceAccount } from '#api/core/v1/types.gen.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating } from '#controllers/framework/errors.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

/** The account of pods that name none. */
const defaultAccount = 'default';

export class ServiceAccountController implements Controller {
  readonly name = 'serviceaccount';
  readonly #context: ControllerContext;
  readonly #namespaces: Informer<Namespace>;
  readonly #accounts: Informer<ServiceAccount>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#namespaces = sharedInformer(context.informers, namespaces);
    this.#accounts = sharedInformer(context.informers, serviceaccounts);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency: 1,
      reconcile: (name) => this.#reconcile(name),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { queue } = this.#loop;
    const add = (namespace: Namespace) => queue.add(keyOf(namespace));
    await this.#loop.run(signal, [
      this.#namespaces.addHandler({ onAdd: add, onUpdate: add }),
      this.#accounts.addHandler({
        onDelete: ({ metadata }) => {
          if (metadata.name === defaultAccount) queue.add(metadata.namespace ?? '');
        },
      }),
    ]);
  }

  async #reconcile(name: string): Promise<Outcome> {
    const namespace = this.#namespaces.get(name);
    if (namespace === undefined || namespace.status?.phase === 'Terminating') return done;
    if (this.#accounts.get(keyFor(name, defaultAccount)) !== undefined) return done;
    try {
      await this.#context.client
        .resource(serviceaccounts)
        .create({ metadata: { name: defaultAccount, namespace: name } });
    } catch (error) {
      if (!isAlreadyExists(error) && !isNotFound(error) && !isNamespaceTerminating(error)) throw error;
    }
    return done;
  }
}
