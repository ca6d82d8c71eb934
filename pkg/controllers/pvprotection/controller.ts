/** Keeps volumes that are deleted until no claim is bound to them. */
import { persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume } from '#api/core/v1/types.gen.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { planVolume } from '#controllers/pvprotection/plan.js';

/** Volumes worked on at once, as in 1.24. */
const concurrency = 1;

export class PVProtectionController implements Controller {
  readonly name = 'pv-protection';
  readonly #context: ControllerContext;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#volumes = sharedInformer(context.informers, persistentvolumes);
    this.#loop = new ReconcileLoop(context, { name: this.name, concurrency, reconcile: (key) => this.#reconcile(key) });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { dialect } = this.#context;
    const add = (volume: PersistentVolume) => {
      if (planVolume(volume, dialect) !== undefined) this.#loop.queue.add(keyOf(volume));
    };
    await this.#loop.run(signal, [this.#volumes.addHandler({ onAdd: add, onUpdate: add })]);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const volume = this.#volumes.get(key);
    const wanted = volume === undefined ? undefined : planVolume(volume, this.#context.dialect);
    if (wanted === undefined) return done;
    const written = await this.#context.client.resource(persistentvolumes).update(wanted);
    this.#loop.written.wrote(key, this.#volumes, written);
    return done;
  }
}
