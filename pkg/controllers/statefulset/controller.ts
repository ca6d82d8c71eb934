/** Manages the pods of stateful sets, which have stable names and claims and are created and replaced in order. */
import { statefulsets } from '#api/apps/v1/resources.gen.js';
import type { StatefulSet, StatefulSetStatus } from '#api/apps/v1/types.gen.js';
import { persistentvolumeclaims, pods as podType } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import { type LabelSelector, selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter, retry } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { controllerReference } from '#controllers/framework/owners.js';
import { PodOwners } from '#controllers/framework/pod-owners.js';
import { RevisionHistory } from '#controllers/history/history.js';
import { revisionHash } from '#controllers/history/revisions.js';
import { nextAvailableMs } from '#controllers/replicaset/plan.js';
import { ordinalOf } from '#controllers/statefulset/identity.js';
import {
  excessRevisions,
  planStatefulSet,
  type StatefulSetFeatures,
  type StatefulSetObservation,
  statusToWrite,
} from '#controllers/statefulset/plan.js';
import { StatefulPodControl } from '#controllers/statefulset/pod-control.js';

export interface StatefulSetOptions {
  readonly concurrency: number;
  readonly features: StatefulSetFeatures;
}

export class StatefulSetController implements Controller {
  readonly name = 'statefulset';
  readonly #context: ControllerContext;
  readonly #features: StatefulSetFeatures;
  readonly #sets: Informer<StatefulSet>;
  readonly #pods: Informer<Pod>;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #loop: ReconcileLoop;
  readonly #podOwners: PodOwners<StatefulSet>;
  readonly #history: RevisionHistory<StatefulSet>;
  readonly #podControl: StatefulPodControl;

  constructor(context: ControllerContext, { concurrency, features }: StatefulSetOptions) {
    this.#context = context;
    this.#features = features;
    this.#sets = sharedInformer(context.informers, statefulsets);
    this.#pods = sharedInformer(context.informers, podType);
    this.#claims = sharedInformer(context.informers, persistentvolumeclaims);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency,
      reconcile: (key) => this.#reconcile(key),
    });
    this.#podOwners = new PodOwners({
      context,
      type: statefulsets,
      owners: this.#sets,
      pods: this.#pods,
      loop: this.#loop,
      selector: selectorOf,
      ignores: (set, pod) => ordinalOf(set, pod) === undefined,
    });
    const { written } = this.#loop;
    this.#history = new RevisionHistory(context, statefulsets, written);
    const { autoDeletePVC } = features;
    this.#podControl = new StatefulPodControl({
      context,
      pods: this.#pods,
      claims: this.#claims,
      written,
      autoDeletePVC,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (set: StatefulSet) => this.#loop.queue.add(keyOf(set));
    await this.#loop.run(signal, [
      this.#sets.addHandler({ onAdd: add, onUpdate: add, onDelete: add }),
      this.#podOwners.watch(),
      this.#claims.addHandler({ onDelete: (claim) => this.#enqueueWaitingSets(claim) }),
    ]);
  }

  /** A new pod may wait for the deletion of an old claim with its name. */
  #enqueueWaitingSets({ metadata: { namespace, name = '' } }: PersistentVolumeClaim): void {
    for (const set of this.#sets.list(namespace)) {
      const templates = set.spec.volumeClaimTemplates ?? [];
      if (templates.some((template) => name.startsWith(`${template.metadata.name}-${set.metadata.name}-`))) {
        this.#loop.queue.add(keyOf(set));
      }
    }
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { clock } = this.#context;
    const set = this.#sets.get(key);
    if (set === undefined) return done;
    const selector = selectorOf(set);
    const revisions = await this.#history.revisionsOf(set, selector);
    const pods = await this.#podOwners.claim(set);
    const { labels } = this.#context.dialect;
    const source = { owner: set, template: set.spec.template, hashLabel: labels.revisionHash, hashOf: revisionHash };
    const { revision: update, collisionCount } = await this.#history.current(
      set,
      source,
      revisions,
      set.status?.collisionCount ?? 0,
    );
    const current = revisions.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update;
    const outcome = await this.#execute({ ...this.#observe(set), pods, current, update, collisionCount });
    await this.#history.delete(set, excessRevisions({ ...this.#observe(set), pods, current, update }, revisions));
    if (outcome.kind !== 'done' || !this.#features.minReadySeconds) return outcome;
    const availableMs = nextAvailableMs(set, pods, clock.now());
    return availableMs === undefined ? done : requeueAfter(availableMs);
  }

  #observe(set: StatefulSet): Pick<StatefulSetObservation, 'dialect' | 'set' | 'reference' | 'features' | 'claim'> {
    const { dialect } = this.#context;
    return {
      dialect,
      set,
      reference: controllerReference(dialect, statefulsets, set),
      features: this.#features,
      claim: (name) => this.#claims.get(keyFor(set.metadata.namespace, name)),
    };
  }

  /** Executes the steps in order. The status is written even after a failure. */
  async #execute(observed: StatefulSetObservation): Promise<Outcome> {
    const { set } = observed;
    const plan = planStatefulSet(observed, this.#context.clock.now());
    let { status } = plan;
    let outcome: Outcome = done;
    for (const step of plan.steps) {
      try {
        await this.#podControl.execute(set, step.action);
      } catch (error) {
        outcome = retry(error);
        break;
      }
      status = step.status;
    }
    await this.#writeStatus(set, status);
    return outcome;
  }

  async #writeStatus(set: StatefulSet, current: StatefulSetStatus): Promise<void> {
    const status = statusToWrite(set, current);
    if (status === undefined) return;
    try {
      const updated = await this.#context.client.resource(statefulsets).updateStatus({ ...set, status });
      this.#loop.written.wrote(keyOf(set), this.#sets, updated);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

function selectorOf(set: StatefulSet): LabelSelector {
  return selectorFromObject(set.spec.selector);
}
