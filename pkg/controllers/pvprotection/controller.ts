/** Delays the deletion of volumes while claims are bound to them. */
import { persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { protectionStep, withFinalizer, withoutFinalizer } from '#controllers/framework/protection.js';

/** As in 1.24. */
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
    const changed = volume === undefined ? undefined : planVolume(volume, this.#context.dialect);
    if (changed === undefined) return done;
    const written = await this.#context.client.resource(persistentvolumes).update(changed);
    this.#loop.written.wrote(key, this.#volumes, written);
    return done;
  }
}

/** Adds the finalizer, or removes it from an unbound volume in deletion; undefined when unchanged. Pure. */
export function planVolume(volume: PersistentVolume, { finalizers }: Dialect): PersistentVolume | undefined {
  const finalizer = finalizers.pvProtection;
  const step = protectionStep(volume, finalizer);
  if (step === 'add') return withFinalizer(volume, finalizer);
  return step === 'release' && volume.status?.phase !== 'Bound' ? withoutFinalizer(volume, finalizer) : undefined;
}
