/** Keeps claims that are deleted until no pod uses them. */
import { claimNamesOf } from '#api/core/v1/pod/claims.js';
import { persistentvolumeclaims, pods as podType } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { indexByClaim, podsOfClaim, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { protectionStep, withFinalizer, withoutFinalizer } from '#controllers/framework/protection.js';
import { isClaimUsed, mayRelease } from '#controllers/pvcprotection/plan.js';

/** Claims worked on at once, as in 1.24. */
const concurrency = 1;

export class PVCProtectionController implements Controller {
  readonly name = 'pvc-protection';
  readonly #context: ControllerContext;
  readonly #finalizer: string;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #pods: Informer<Pod>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#finalizer = context.dialect.finalizers.pvcProtection;
    this.#claims = sharedInformer(context.informers, persistentvolumeclaims);
    this.#pods = sharedInformer(context.informers, podType);
    indexByClaim(this.#pods);
    this.#loop = new ReconcileLoop(context, { name: this.name, concurrency, reconcile: (key) => this.#reconcile(key) });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (claim: PersistentVolumeClaim) => {
      if (protectionStep(claim, this.#finalizer) !== undefined) this.#loop.queue.add(keyOf(claim));
    };
    const released = (pod: Pod) => {
      for (const name of claimNamesOf(pod)) this.#loop.queue.add(keyFor(pod.metadata.namespace, name));
    };
    const seen = (pod: Pod) => {
      if (mayRelease(pod)) released(pod);
    };
    await this.#loop.run(signal, [
      this.#claims.addHandler({ onAdd: add, onUpdate: add }),
      this.#pods.addHandler({
        onAdd: seen,
        onUpdate: (pod, old) => {
          seen(pod);
          // Of two pods with one name, the end of the first may have gone unseen.
          if (old.metadata.uid !== pod.metadata.uid) released(old);
        },
        onDelete: released,
      }),
    ]);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const claim = this.#claims.get(key);
    const step = claim === undefined ? undefined : protectionStep(claim, this.#finalizer);
    if (claim === undefined || step === undefined) return done;
    if (step === 'release' && (await this.#isUsed(key, claim))) return done;
    const change = step === 'add' ? withFinalizer : withoutFinalizer;
    const written = await this.#context.client
      .resource(persistentvolumeclaims)
      .update(change(claim, this.#finalizer), { namespace: claim.metadata.namespace ?? '' });
    this.#loop.written.wrote(key, this.#claims, written);
    return done;
  }

  /** The cache may not know of a pod yet, so that its "no" is asked for once more. */
  async #isUsed(key: string, claim: PersistentVolumeClaim): Promise<boolean> {
    if (isClaimUsed(claim, podsOfClaim(this.#pods, key))) return true;
    const { namespace = '' } = claim.metadata;
    const { items } = await this.#context.client.resource(podType).list({ namespace });
    return isClaimUsed(claim, items);
  }
}
