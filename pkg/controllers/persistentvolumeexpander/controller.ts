/** Sees claims that ask for more than they have, and tells who is awaited to give it. */
import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { hasGrown, planExpansion } from '#controllers/persistentvolumeexpander/plan.js';

/** Claims worked on at once, as in 1.24. */
const concurrency = 10;

export class PersistentVolumeExpander implements Controller {
  readonly name = 'persistentvolume-expander';
  readonly #context: ControllerContext;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#claims = sharedInformer(context.informers, persistentvolumeclaims);
    this.#volumes = sharedInformer(context.informers, persistentvolumes);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency,
      reconcile: async (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (claim: PersistentVolumeClaim) => {
      if (claim.status?.phase === 'Bound') this.#loop.queue.add(keyOf(claim));
    };
    await this.#loop.run(signal, [
      this.#claims.addHandler({
        onAdd: add,
        onUpdate: (claim, old) => {
          if (hasGrown(claim, old)) add(claim);
        },
      }),
    ]);
  }

  #reconcile(key: string): Outcome {
    const claim = this.#claims.get(key);
    if (claim === undefined) return done;
    const expansion = planExpansion(claim, this.#volumes.get(claim.spec.volumeName ?? ''));
    if (expansion !== undefined) {
      this.#context.events.record(claim, expansion.type, 'ExternalExpanding', expansion.message);
    }
    return done;
  }
}
