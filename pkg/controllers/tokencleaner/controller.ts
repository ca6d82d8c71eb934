/** Deletes expired bootstrap tokens. */

import { secrets as secretType } from '#api/core/v1/resources.gen.js';
import { bootstrapTokenExpiryMs, bootstrapTokenSelector } from '#api/core/v1/secret/bootstrap-token.js';
import type { Secret } from '#api/core/v1/types.gen.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

export class TokenCleanerController implements Controller {
  readonly name = 'tokencleaner';
  readonly #context: ControllerContext;
  readonly #secrets: Informer<Secret>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#secrets = context.informers.informer(secretType, bootstrapTokenSelector(context.dialect));
    this.#loop = new ReconcileLoop(context, {
      name: 'token_cleaner',
      concurrency: 1,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (secret: Secret) => this.#loop.queue.add(keyOf(secret));
    await this.#loop.run(signal, [this.#secrets.addHandler({ onAdd: add, onUpdate: add })]);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { client, clock } = this.#context;
    const secret = this.#secrets.get(key);
    if (secret === undefined) return done;
    const leftMs = bootstrapTokenExpiryMs(secret) - clock.now();
    if (leftMs === Number.POSITIVE_INFINITY) return done;
    if (leftMs > 0) return requeueAfter(leftMs);
    const { name = '', namespace = '', uid = '' } = secret.metadata;
    try {
      await client.resource(secretType).delete(name, { namespace, preconditions: { uid } });
    } catch (error) {
      // The secret no longer exists, or another secret has its name.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    this.#loop.written.deleted(key, this.#secrets, secret);
    return done;
  }
}
