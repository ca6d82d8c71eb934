/** Finds the owners to reconcile when a pod changes, and the pods that an owner manages. */
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { LabelSelector } from '#apimachinery/selectors/labels.js';
import type { ApiObject } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { indexByController, ownedOrOrphaned } from '#controllers/framework/informers.js';
import type { ReconcileLoop } from '#controllers/framework/loop.js';
import { claimObjects, controllerOf, controllerReference } from '#controllers/framework/owners.js';

export interface PodOwnersOptions<T extends ApiObject> {
  readonly context: Pick<ControllerContext, 'client' | 'dialect'>;
  /** The kind of the owners. */
  readonly type: ResourceType<T>;
  readonly owners: Informer<T>;
  /** The constructor adds the index by managing owner. */
  readonly pods: Informer<Pod>;
  /** The loop whose keys are owners. */
  readonly loop: ReconcileLoop;
  readonly selector: (owner: T) => LabelSelector;
  /** True for pods that the owner never adopts or releases; by default none. */
  readonly ignores?: (owner: T, pod: Pod) => boolean;
}

export class PodOwners<T extends ApiObject> {
  readonly #options: PodOwnersOptions<T>;

  constructor(options: PodOwnersOptions<T>) {
    this.#options = options;
    indexByController(options.pods);
  }

  /** Enqueues a pod's owners whenever it changes, until the returned function is called. */
  watch(): () => void {
    return this.#options.pods.addHandler({
      onAdd: (pod) => this.#podSeen(pod),
      onUpdate: (pod, old) => {
        if (controllerOf(old)?.uid !== controllerOf(pod)?.uid) this.#enqueueManager(old);
        this.#podSeen(pod);
      },
      onDelete: (pod) => this.#enqueueManager(pod),
    });
  }

  /** Adopts and releases pods as necessary, and returns the pods that the owner manages; see `claimObjects`. */
  claim(owner: T, { finalizers }: { readonly finalizers?: readonly string[] } = {}): Promise<Pod[]> {
    const { context, type, pods, loop, selector, ignores } = this.#options;
    const { client, dialect } = context;
    const { name = '', namespace = '' } = owner.metadata;
    const candidates = ownedOrOrphaned(pods, owner);
    return claimObjects<Pod>({
      owner,
      selector: selector(owner),
      objects: ignores === undefined ? candidates : candidates.filter((pod) => !ignores(owner, pod)),
      reference: controllerReference(dialect, type, owner),
      liveOwner: () => client.resource(type).get(name, { namespace }),
      client: client.resource(podType),
      ...(finalizers === undefined ? {} : { finalizers }),
      wrote: (pod) => loop.written.wrote(keyOf(owner), pods, pod),
    });
  }

  #podSeen(pod: Pod): void {
    if (controllerOf(pod) !== undefined) this.#enqueueManager(pod);
    else if (pod.metadata.deletionTimestamp === undefined) this.#enqueueMatching(pod);
  }

  /** Enqueues the managing owner if its kind, name and UID match the reference. */
  #enqueueManager(pod: Pod): void {
    const { type, owners, loop } = this.#options;
    const reference = controllerOf(pod);
    if (reference?.kind !== type.kind) return;
    const owner = owners.get(keyFor(pod.metadata.namespace, reference.name));
    if (owner?.metadata.uid === reference.uid) loop.queue.add(keyOf(owner));
  }

  /** Enqueues all owners that could adopt an orphaned pod. */
  #enqueueMatching(pod: Pod): void {
    const { owners, loop, selector, ignores } = this.#options;
    for (const owner of owners.list(pod.metadata.namespace)) {
      if (ignores?.(owner, pod)) continue;
      if (selector(owner).matches(pod.metadata.labels)) loop.queue.add(keyOf(owner));
    }
  }
}
