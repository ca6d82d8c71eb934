/** Maintains the desired number of pods of each ReplicaSet (or ReplicationController). */

import { isPodActive } from '#api/core/v1/pod/conditions.js';
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter, retry } from '#client/workqueue/outcome.js';
import { failuresWithin, maxConcurrentWrites } from '#controllers/framework/bounded-concurrency.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating } from '#controllers/framework/errors.js';
import { indexByController, ownedBy, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { controllerOf, controllerReference } from '#controllers/framework/owners.js';
import { PodControl } from '#controllers/framework/pod-control.js';
import { PodOwners } from '#controllers/framework/pod-owners.js';
import { slowStart } from '#controllers/framework/slow-start.js';
import { nextAvailableMs, planReplicas, planStatus, type ReplicaFailure } from '#controllers/replicaset/plan.js';
import { podFromTemplate } from '#controllers/replicaset/pod-template.js';
import { defaultRanking, type Ranking } from '#controllers/replicaset/ranking.js';
import type { Replicated, ReplicatedKind } from '#controllers/replicaset/replicated-kinds.js';

export interface ReplicaSetOptions {
  readonly concurrency: number;
  /** Absent: that of the gates' defaults. */
  readonly ranking?: Ranking;
}

export class ReplicaSetController<T extends Replicated> implements Controller {
  readonly name: string;
  readonly #context: ControllerContext;
  readonly #kind: ReplicatedKind<T>;
  readonly #sets: Informer<T>;
  readonly #pods: Informer<Pod>;
  readonly #loop: ReconcileLoop;
  readonly #podOwners: PodOwners<T>;
  readonly #podControl: PodControl;
  readonly #ranking: Ranking;

  constructor(context: ControllerContext, kind: ReplicatedKind<T>, options: ReplicaSetOptions) {
    this.name = kind.controllerName;
    this.#context = context;
    this.#kind = kind;
    this.#ranking = options.ranking ?? defaultRanking;
    this.#sets = sharedInformer(context.informers, kind.type);
    this.#pods = sharedInformer(context.informers, podType);
    indexByController(this.#sets);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency: options.concurrency,
      reconcile: (key) => this.#reconcile(key),
    });
    this.#podOwners = new PodOwners({
      context,
      type: kind.type,
      owners: this.#sets,
      pods: this.#pods,
      loop: this.#loop,
      selector: kind.selector,
      ignores: (_set, pod) => !isPodActive(pod),
    });
    this.#podControl = new PodControl({ context, pods: this.#pods, written: this.#loop.written });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (set: T) => this.#loop.queue.add(keyOf(set));
    await this.#loop.run(signal, [
      this.#sets.addHandler({ onAdd: add, onUpdate: add, onDelete: add }),
      this.#podOwners.watch(),
    ]);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { clock } = this.#context;
    const set = this.#sets.get(key);
    if (set === undefined) return done;
    const claimed = await this.#podOwners.claim(set);
    const managed = set.metadata.deletionTimestamp === undefined;
    const managing = managed ? await this.#manage(set, claimed) : undefined;
    await this.#writeStatus(set, claimed, managed, managing?.failure);
    if (managing?.error !== undefined) return retry(managing.error);
    const availableMs = nextAvailableMs(set, claimed, clock.now());
    return availableMs === undefined ? done : requeueAfter(availableMs);
  }

  async #manage(set: T, pods: readonly Pod[]): Promise<{ failure?: ReplicaFailure; error?: unknown }> {
    const observation = {
      dialect: this.#context.dialect,
      set,
      pods,
      relatedPods: () => this.#relatedPods(set),
      ranking: this.#ranking,
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

  #create(set: T): Promise<void> {
    const { name = '', namespace = '' } = set.metadata;
    const reference = controllerReference(this.#context.dialect, this.#kind.type, set);
    return this.#podControl.create(set, podFromTemplate(set.spec.template ?? {}, { name, namespace }, reference));
  }

  /** Deletes all pods and returns the first failure. */
  async #deleteAll(set: T, pods: readonly Pod[]): Promise<unknown> {
    const [failure] = await failuresWithin(pods, maxConcurrentWrites, (pod) => this.#podControl.delete(set, pod));
    return failure;
  }

  async #writeStatus(set: T, pods: readonly Pod[], managed: boolean, failure?: ReplicaFailure): Promise<void> {
    const status = planStatus(set, pods, { managed, failure }, this.#context.clock.now());
    if (status === undefined) return;
    try {
      const sets = this.#context.client.resource(this.#kind.type);
      this.#loop.written.wrote(keyOf(set), this.#sets, await sets.updateStatus(this.#kind.withStatus(set, status)));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** The pods of all sets with the same manager as this set, including its own. */
  #relatedPods(set: T): Pod[] {
    const manager = controllerOf(set);
    const related = manager === undefined ? [set] : ownedBy(this.#sets, manager.uid);
    return related.flatMap(({ metadata }) => ownedBy(this.#pods, metadata.uid ?? ''));
  }
}
