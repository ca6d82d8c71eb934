/** Keeps what the cluster tells strangers of itself signed by all bootstrap tokens that may sign. */

import { clusterInfoName } from '#api/core/v1/configmap/cluster-info.js';
import { configmaps, secrets as secretType } from '#api/core/v1/resources.gen.js';
import { bootstrapTokenSelector } from '#api/core/v1/secret/bootstrap-token.js';
import type { ConfigMap, Secret } from '#api/core/v1/types.gen.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import { nextExpiryMs, signedInfo } from '#controllers/bootstrapsigner/plan.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

export class BootstrapSignerController implements Controller {
  readonly name = 'bootstrapsigner';
  readonly #context: ControllerContext;
  readonly #infos: Informer<ConfigMap>;
  readonly #secrets: Informer<Secret>;
  readonly #loop: ReconcileLoop;
  readonly #key: string;

  constructor(context: ControllerContext) {
    const { dialect, informers } = context;
    const namespace = dialect.namespaces.public;
    this.#context = context;
    this.#key = keyFor(namespace, clusterInfoName);
    this.#infos = informers.informer(configmaps, { namespace, fieldSelector: `metadata.name=${clusterInfoName}` });
    this.#secrets = informers.informer(secretType, bootstrapTokenSelector(dialect));
    this.#loop = new ReconcileLoop(context, {
      name: 'bootstrap_signer_queue',
      concurrency: 1,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = () => this.#loop.queue.add(this.#key);
    await this.#loop.run(signal, [
      this.#infos.addHandler({ onAdd: add, onUpdate: add }),
      this.#secrets.addHandler({ onAdd: add, onUpdate: add, onDelete: add }),
    ]);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { client, clock, dialect } = this.#context;
    const info = this.#infos.get(key);
    if (info === undefined) return done;
    const tokens = this.#secrets.list();
    const signed = signedInfo(dialect, info, tokens, clock.now());
    if (signed !== undefined) {
      try {
        this.#loop.written.wrote(key, this.#infos, await client.resource(configmaps).update(signed));
      } catch (error) {
        // The newer map brings the key back.
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
    }
    const expiryMs = nextExpiryMs(tokens, clock.now());
    return expiryMs === undefined ? done : requeueAfter(expiryMs);
  }
}
