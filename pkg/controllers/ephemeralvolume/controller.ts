/** Makes the claims of pods' ephemeral volumes; they go with the pod that owns them. */
import { persistentvolumeclaims, pods as podType } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import { type EphemeralClaim, hasEphemeralVolumes, missingClaims } from '#controllers/ephemeralvolume/plan.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating } from '#controllers/framework/errors.js';
import { indexByClaim, podsOfClaim, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

export interface EphemeralVolumeOptions {
  /** Pods worked on at once. */
  readonly concurrency: number;
}

export class EphemeralVolumeController implements Controller {
  readonly name = 'ephemeral-volume';
  readonly #context: ControllerContext;
  readonly #pods: Informer<Pod>;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext, { concurrency }: EphemeralVolumeOptions) {
    this.#context = context;
    this.#pods = sharedInformer(context.informers, podType);
    indexByClaim(this.#pods);
    this.#claims = sharedInformer(context.informers, persistentvolumeclaims);
    this.#loop = new ReconcileLoop(context, { name: this.name, concurrency, reconcile: (key) => this.#reconcile(key) });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (pod: Pod) => {
      if (hasEphemeralVolumes(pod)) this.#loop.queue.add(keyOf(pod));
    };
    await this.#loop.run(signal, [
      // What a pod needs never changes.
      this.#pods.addHandler({ onAdd: add }),
      this.#claims.addHandler({
        onDelete: (claim) => {
          for (const pod of podsOfClaim(this.#pods, keyOf(claim))) add(pod);
        },
      }),
    ]);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const pod = this.#pods.get(key);
    if (pod === undefined) return done;
    const { namespace } = pod.metadata;
    const find = (name: string) => this.#claims.get(keyFor(namespace, name));
    for (const missing of missingClaims(pod, find, this.#context.dialect)) {
      try {
        await this.#make(key, missing);
      } catch (error) {
        if (isNamespaceTerminating(error)) throw error;
        const message = `ephemeral volume ${missing.volume}: ${messageOf(error)}`;
        this.#context.events.record(pod, 'Warning', 'FailedBinding', message);
        throw new Error(`pod ${key}, ${message}`, { cause: error });
      }
    }
    return done;
  }

  async #make(key: string, { name, claim, conflict }: EphemeralClaim): Promise<void> {
    const { client, metrics } = this.#context;
    if (claim === undefined) throw new Error(conflict);
    metrics.count('ephemeral_volume_controller_create_total', 'Number of PersistentVolumeClaims creation requests');
    try {
      this.#loop.written.wrote(key, this.#claims, await client.resource(persistentvolumeclaims).create(claim));
    } catch (error) {
      metrics.count(
        'ephemeral_volume_controller_create_failures_total',
        'Number of PersistentVolumeClaims creation requests',
      );
      if (isNamespaceTerminating(error)) throw error;
      throw new Error(`create PVC ${name}: ${messageOf(error)}`, { cause: error });
    }
  }
}
