/** Keeps the wanted number of pods for each ReplicaSet (or ReplicationController). */

import { isPodActive } from '#api/core/v1/pod/conditions.js';
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter, retry } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating } from '#controllers/framework/errors.js';
import { Expectations } from '#controllers/framework/expectations.js';
import { indexByController, ownedBy, ownedOrOrphaned, sharedInformer } from '#controllers/framework/informers.js';
import { keyFor, keyOf, splitKey } from '#controllers/framework/keys.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { claimObjects, controllerOf, controllerReference } from '#controllers/framework/owners.js';
import { slowStart } from '#controllers/framework/slow-start.js';
import { nextAvailableMs, planReplicas, planStatus, type ReplicaFailure } from '#controllers/replicaset/plan.js';
import { podFromTemplate } from '#controllers/replicaset/pod-template.js';
import type { Replicated, ReplicatedKind } from '#controllers/replicaset/replicated.js';

export interface ReplicaSetOptions {
  /** Sets worked on at once. */
  readonly concurrency: number;
}

export class ReplicaSetController<T extends Replicated> implements Controller {
  readonly name: string;
  readonly #context: ControllerContext;
  readonly #kind: ReplicatedKind<T>;
  readonly #sets: Informer<T>;
  readonly #pods: Informer<Pod>;
  readonly #loop: ReconcileLoop;
  readonly #expectations: Expectations;
  readonly #unwatch: (() => void)[] = [];

  constructor(context: ControllerContext, kind: ReplicatedKind<T>, options: ReplicaSetOptions) {
    this.name = kind.controllerName;
    this.#context = context;
    this.#kind = kind;
    this.#expectations = new Expectations(context.clock);
    this.#sets = sharedInformer(context.informers, kind.type);
    this.#pods = sharedInformer(context.informers, podType);
    indexByController(this.#sets);
    indexByController(this.#pods);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency: options.concurrency,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { queue } = this.#loop;
    this.#unwatch.push(
      this.#sets.addHandler({
        onAdd: (set) => queue.add(keyOf(set)),
        onUpdate: (set, old) => {
          if (set.metadata.uid !== old.metadata.uid) this.#expectations.forget(old.metadata.uid ?? '');
          queue.add(keyOf(set));
        },
        onDelete: (set) => {
          this.#expectations.forget(set.metadata.uid ?? '');
          queue.add(keyOf(set));
        },
      }),
      this.#pods.addHandler({
        onAdd: (pod) => this.#podSeen(pod),
        onUpdate: (pod, old) => this.#podChanged(pod, old),
        onDelete: (pod) => this.#podGone(pod),
      }),
    );
    try {
      await this.#loop.run(signal);
    } finally {
      for (const remove of this.#unwatch.splice(0)) remove();
    }
  }

  /** The set that manages the pod by name, kind and UID, undefined when there is none. */
  #managerOf(pod: Pod): T | undefined {
    const reference = controllerOf(pod);
    if (reference === undefined || reference.kind !== this.#kind.type.kind) return undefined;
    const set = this.#sets.get(keyFor(pod.metadata.namespace, reference.name));
    return set?.metadata.uid === reference.uid ? set : undefined;
  }

  #podSeen(pod: Pod): void {
    const reference = controllerOf(pod);
    const uid = pod.metadata.uid ?? '';
    if (reference !== undefined) {
      if (pod.metadata.deletionTimestamp === undefined) this.#expectations.sawObject(reference.uid, uid);
      else this.#expectations.sawDeletion(reference.uid, uid);
      this.#enqueueManager(pod);
    } else if (pod.metadata.deletionTimestamp === undefined) this.#enqueueMatching(pod);
  }

  #podChanged(pod: Pod, old: Pod): void {
    if (pod.metadata.uid !== old.metadata.uid) this.#podGone(old);
    else if (controllerOf(old)?.uid !== controllerOf(pod)?.uid) {
      const former = controllerOf(old);
      if (former !== undefined) this.#expectations.sawDeletion(former.uid, old.metadata.uid ?? '');
      this.#enqueueManager(old);
    }
    this.#podSeen(pod);
  }

  #podGone(pod: Pod): void {
    const reference = controllerOf(pod);
    if (reference === undefined) return;
    this.#expectations.sawDeletion(reference.uid, pod.metadata.uid ?? '');
    this.#enqueueManager(pod);
  }

  #enqueueManager(pod: Pod): void {
    const set = this.#managerOf(pod);
    if (set !== undefined) this.#loop.queue.add(keyOf(set));
  }

  /** A pod that nobody manages may be adopted by any set that selects it. */
  #enqueueMatching(pod: Pod): void {
    for (const set of this.#sets.list(pod.metadata.namespace)) {
      if (this.#kind.selector(set).matches(pod.metadata.labels)) this.#loop.queue.add(keyOf(set));
    }
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { clock, client, dialect } = this.#context;
    const set = this.#sets.get(key);
    if (set === undefined) return done;
    const owner = set.metadata.uid ?? '';
    // Asked before the cache is read: what arrives in between can only make the answer stricter than needed.
    const waitMs = this.#expectations.waitMs(owner);
    const { namespace, name } = splitKey(key);
    const claimed = await claimObjects<Pod>({
      owner: set,
      selector: this.#kind.selector(set),
      objects: ownedOrOrphaned(this.#pods, set).filter(isPodActive),
      reference: controllerReference(dialect, this.#kind.type, set),
      liveOwner: () => client.resource(this.#kind.type).get(name, { namespace }),
      client: client.resource(podType),
    });
    const managed = waitMs === 0 && set.metadata.deletionTimestamp === undefined;
    const managing = managed ? await this.#manage(set, claimed) : undefined;
    await this.#writeStatus(set, claimed, managed, managing?.failure);
    if (managing?.error !== undefined) return retry(managing.error);
    const due = [nextAvailableMs(set, claimed, clock.now()), waitMs > 0 ? waitMs : undefined].filter(
      (ms) => ms !== undefined,
    );
    return due.length === 0 ? done : requeueAfter(Math.min(...due));
  }

  async #manage(set: T, pods: readonly Pod[]): Promise<{ failure?: ReplicaFailure; error?: unknown }> {
    const observation = {
      dialect: this.#context.dialect,
      set,
      pods,
      relatedPods: () => this.#relatedPods(set),
    };
    for (const action of planReplicas(observation, this.#context.clock.now())) {
      switch (action.kind) {
        case 'create': {
          const { error } = await slowStart(action.count, () => this.#create(set));
          if (error !== undefined && !isNamespaceTerminating(error)) {
            return { error, failure: { reason: 'FailedCreate', message: messageOf(error) } };
          }
          break;
        }
        case 'delete': {
          const error = await this.#deleteAll(set, action.pods);
          if (error !== undefined) return { error, failure: { reason: 'FailedDelete', message: messageOf(error) } };
          break;
        }
        default:
          action satisfies never;
      }
    }
    return {};
  }

  async #create(set: T): Promise<void> {
    const { client, dialect, events } = this.#context;
    const { name = '', namespace = '', uid = '' } = set.metadata;
    const reference = controllerReference(dialect, this.#kind.type, set);
    const pod = podFromTemplate(set.spec.template ?? {}, { name, namespace }, reference);
    this.#expectations.creating(uid);
    try {
      const created = await client.resource(podType).create(pod);
      this.#expectations.created(uid, created.metadata.uid);
      events.record(set, 'Normal', 'SuccessfulCreate', `Created pod: ${created.metadata.name}`);
    } catch (error) {
      this.#expectations.created(uid, undefined);
      if (!isNamespaceTerminating(error)) {
        events.record(set, 'Warning', 'FailedCreate', `Error creating: ${messageOf(error)}`);
      }
      throw error;
    }
  }

  /** Deletes all and returns the first failure. */
  async #deleteAll(set: T, pods: readonly Pod[]): Promise<unknown> {
    const results = await Promise.allSettled(pods.map((pod) => this.#delete(set, pod)));
    return results.find((result) => result.status === 'rejected')?.reason;
  }

  async #delete(set: T, pod: Pod): Promise<void> {
    const { client, events } = this.#context;
    const owner = set.metadata.uid ?? '';
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    this.#expectations.deleting(owner, uid);
    try {
      await client.resource(podType).delete(name, { namespace, preconditions: { uid } });
      events.record(set, 'Normal', 'SuccessfulDelete', `Deleted pod: ${name}`);
    } catch (error) {
      this.#expectations.notDeleted(owner, uid);
      if (isNotFound(error)) return;
      events.record(set, 'Warning', 'FailedDelete', `Error deleting: ${messageOf(error)}`);
      throw error;
    }
  }

  async #writeStatus(set: T, pods: readonly Pod[], managed: boolean, failure?: ReplicaFailure): Promise<void> {
    const status = planStatus(set, pods, { managed, failure }, this.#context.clock.now());
    if (status === undefined) return;
    try {
      await this.#context.client.resource(this.#kind.type).updateStatus(this.#kind.withStatus(set, status));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** The pods of all sets with the same manager as this one, itself included. */
  #relatedPods(set: T): Pod[] {
    const manager = controllerOf(set);
    const family = manager === undefined ? [set] : ownedBy(this.#sets, manager.uid);
    return family.flatMap((member) => ownedBy(this.#pods, member.metadata.uid ?? ''));
  }
}
