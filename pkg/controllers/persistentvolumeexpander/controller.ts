/** Records an event for each claim that waits for the expansion of its volume. */
import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { keyOf } from '#apimachinery/object-key.js';
import { compareQuantities } from '#apimachinery/quantity.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

/** As in 1.24. */
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

const requestOf = ({ spec }: PersistentVolumeClaim) => spec.resources?.requests?.['storage'] ?? '0';
const capacityOf = ({ status }: PersistentVolumeClaim) => status?.capacity?.['storage'] ?? '0';

/** Whether the request or the capacity has increased. */
export function hasGrown(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
  return (
    compareQuantities(requestOf(claim), requestOf(old)) > 0 || compareQuantities(capacityOf(claim), capacityOf(old)) > 0
  );
}

export interface Expansion {
  readonly type: 'Normal' | 'Warning';
  readonly message: string;
}

const message =
  "Ignoring the PVC: didn't find a plugin capable of expanding the volume; waiting for an external controller to process this PVC.";

/**
 * The event for a bound claim that requests more than its capacity; undefined for other claims. The manager itself cannot
 * expand volumes; the drivers' controllers do. As in 1.24, the event is a warning unless a plugin supports the volume but
 * not its expansion. Throws when the volume is not bound to the claim. Pure.
 */
export function planExpansion(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume | undefined,
): Expansion | undefined {
  const { name, namespace, uid } = claim.metadata;
  if (volume === undefined) throw new Error(`failed to get PV "${claim.spec.volumeName ?? ''}": not found`);
  const { claimRef } = volume.spec;
  if (claimRef === undefined || claimRef.namespace !== namespace || claimRef.uid !== uid) {
    throw new Error(`persistent Volume is not bound to PVC being updated : ${namespace}/${name}`);
  }
  if (compareQuantities(requestOf(claim), capacityOf(claim)) <= 0) return undefined;
  return { type: volume.spec.fc === undefined ? 'Warning' : 'Normal', message };
}
