/** Delays the deletion of claims while pods use them. */
import { claimNameOf, claimNamesOf } from '#api/core/v1/pod/claims.js';
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import { persistentvolumeclaims, pods as podType } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { indexByClaim, podsOfClaim, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { controllerOf } from '#controllers/framework/owners.js';
import { protectionStep, withFinalizer, withoutFinalizer } from '#controllers/framework/protection.js';

/** As in 1.24. */
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
    const addClaims = (pod: Pod) => {
      for (const name of claimNamesOf(pod)) this.#loop.queue.add(keyFor(pod.metadata.namespace, name));
    };
    const addReleased = (pod: Pod) => {
      if (mayRelease(pod)) addClaims(pod);
    };
    await this.#loop.run(signal, [
      this.#claims.addHandler({ onAdd: add, onUpdate: add }),
      this.#pods.addHandler({
        onAdd: addReleased,
        onUpdate: (pod, old) => {
          addReleased(pod);
          // The informer may have missed the deletion of an earlier pod with this name.
          if (old.metadata.uid !== pod.metadata.uid) addClaims(old);
        },
        onDelete: addClaims,
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

  /** Confirms with a live list that no pod uses the claim, because the cache may lag. */
  async #isUsed(key: string, claim: PersistentVolumeClaim): Promise<boolean> {
    if (isClaimUsed(claim, podsOfClaim(this.#pods, key))) return true;
    const { namespace = '' } = claim.metadata;
    const { items } = await this.#context.client.resource(podType).list({ namespace });
    return isClaimUsed(claim, items);
  }
}

/**
 * Whether a pod uses the claim. Unscheduled pods do not count, because their node would not start them with a claim in
 * deletion. Finished pods count, as in 1.24. Pure.
 */
export function isClaimUsed(claim: PersistentVolumeClaim, pods: readonly Pod[]): boolean {
  return pods.some((pod) => usesClaim(pod, claim));
}

function usesClaim(pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (!isBound(pod) || pod.metadata.namespace !== claim.metadata.namespace) return false;
  return (pod.spec.volumes ?? []).some((volume) => {
    if (claimNameOf(pod.metadata.name ?? '', volume) !== claim.metadata.name) return false;
    return volume.ephemeral === undefined || (!isShutDown(pod) && isOwnClaim(claim, pod));
  });
}

function isBound({ spec }: Pod): boolean {
  return (spec.nodeName ?? '') !== '';
}

/**
 * Whether the node agent has stopped the pod, or its deletion was forced. The pod may still exist because its finalizers
 * wait for the claim's deletion.
 */
function isShutDown({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0;
}

/** Whether the claim belongs to an ephemeral volume of this pod, rather than only having its name. */
function isOwnClaim(claim: PersistentVolumeClaim, pod: Pod): boolean {
  return controllerOf(claim)?.uid === pod.metadata.uid;
}

/** Whether the pod may have released its claims; a pod that runs on a node uses them. */
export function mayRelease(pod: Pod): boolean {
  return !isBound(pod) || isShutDown(pod) || isPodTerminal(pod);
}
