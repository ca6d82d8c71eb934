/** Runs one pod of each daemon set on every matching node, and replaces pods when the template changes. */
import { templateGenerationOf } from '#api/apps/v1/daemonset/template-generation.js';
import { daemonsets } from '#api/apps/v1/resources.gen.js';
import type { ControllerRevision, DaemonSet, DaemonSetStatus } from '#api/apps/v1/types.gen.js';
import { nodes as nodeType, pods as podType } from '#api/core/v1/resources.gen.js';
import type { Node, Pod, PodTemplateSpec } from '#api/core/v1/types.gen.js';
import { KeyedBackoff } from '#apimachinery/backoff/keyed-backoff.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import { type LabelSelector, selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter, retry } from '#client/workqueue/outcome.js';
import type { DaemonDeletion } from '#controllers/daemonset/observation.js';
import { daemonTemplate, placementOn, templateForNode } from '#controllers/daemonset/placement.js';
import { type DaemonSetPlan, excessRevisions, isNewStatus, planDaemonSet } from '#controllers/daemonset/plan.js';
import { templateHash } from '#controllers/deployment/template-hash.js';
import { failuresWithin, maxConcurrentWrites } from '#controllers/framework/bounded-concurrency.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { controllerReference } from '#controllers/framework/owners.js';
import { PodControl } from '#controllers/framework/pod-control.js';
import { PodOwners } from '#controllers/framework/pod-owners.js';
import { slowStart } from '#controllers/framework/slow-start.js';
import { RevisionHistory } from '#controllers/history/history.js';
import { hasTemplate } from '#controllers/history/revisions.js';
import { nextAvailableMs } from '#controllers/replicaset/plan.js';
import { podFromTemplate } from '#controllers/replicaset/pod-template.js';

export interface DaemonSetOptions {
  readonly concurrency: number;
  /** The feature gate DaemonSetUpdateSurge. */
  readonly surgeEnabled: boolean;
}

export class DaemonSetController implements Controller {
  readonly name = 'daemonset';
  readonly #context: ControllerContext;
  readonly #options: DaemonSetOptions;
  readonly #sets: Informer<DaemonSet>;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #loop: ReconcileLoop;
  readonly #podOwners: PodOwners<DaemonSet>;
  readonly #history: RevisionHistory<DaemonSet>;
  readonly #podControl: PodControl;
  /** Delays the replacement of failed pods, by `<UID of the set>/<node>`. */
  readonly #backoff: KeyedBackoff;

  constructor(context: ControllerContext, options: DaemonSetOptions) {
    this.#context = context;
    this.#options = options;
    this.#sets = sharedInformer(context.informers, daemonsets);
    this.#pods = sharedInformer(context.informers, podType);
    this.#nodes = sharedInformer(context.informers, nodeType);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency: options.concurrency,
      reconcile: (key) => this.#reconcile(key),
    });
    this.#podOwners = new PodOwners({
      context,
      type: daemonsets,
      owners: this.#sets,
      pods: this.#pods,
      loop: this.#loop,
      selector: selectorOf,
    });
    const { written } = this.#loop;
    this.#history = new RevisionHistory(context, daemonsets, written);
    this.#podControl = new PodControl({ context, pods: this.#pods, written });
    this.#backoff = new KeyedBackoff({ initialMs: 1000, maxMs: 900_000, now: () => context.clock.monotonic() });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (set: DaemonSet) => this.#loop.queue.add(keyOf(set));
    await this.#loop.run(signal, [
      this.#sets.addHandler({
        onAdd: add,
        onUpdate: (set, old) => {
          // A new template resets the backoff.
          if (set.metadata.generation !== old.metadata.generation) this.#backoff.forget(`${set.metadata.uid}/`);
          add(set);
        },
        onDelete: (set) => {
          this.#backoff.forget(`${set.metadata.uid}/`);
          add(set);
        },
      }),
      this.#podOwners.watch(),
      this.#nodes.addHandler({
        onAdd: (node) => this.#nodeChanged(undefined, node),
        onUpdate: (node, old) => {
          const same =
            semanticEqual(node.metadata.labels, old.metadata.labels) &&
            semanticEqual(node.spec.taints, old.spec.taints);
          if (!same) this.#nodeChanged(old, node);
        },
        onDelete: (node) => this.#nodeChanged(node, undefined),
      }),
    ]);
  }

  /** Enqueues sets whose placement on the node changes. */
  #nodeChanged(old: Node | undefined, node: Node | undefined): void {
    for (const set of this.#sets.list()) {
      const template = daemonTemplate(this.#context.dialect, set);
      const nowhere = { shouldRun: false, shouldContinue: false };
      const before = old === undefined ? nowhere : placementOn(template, old);
      const after = node === undefined ? nowhere : placementOn(template, node);
      if (!semanticEqual(before, after)) this.#loop.queue.add(keyOf(set));
    }
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { clock, dialect, events } = this.#context;
    const set = this.#sets.get(key);
    if (set === undefined) return done;
    const selector = selectorOf(set);
    if (selector.isEverything) {
      const message = 'This daemon set is selecting all pods. A non-empty selector is required.';
      events.record(set, 'Warning', 'SelectingAll', message);
      return done;
    }
    if (set.metadata.deletionTimestamp !== undefined) return done;
    const revisions = await this.#history.revisionsOf(set, selector);
    const hashLabel = dialect.labels.controllerRevisionHash;
    const { template } = set.spec;
    // The first hash has no collision count.
    const nameOf = (_data: object, count: number) => templateHash(dialect, template, count === 0 ? undefined : count);
    const source = { owner: set, template, hashLabel, hashOf: nameOf };
    const current = await this.#history.current(set, source, revisions, set.status?.collisionCount ?? 0);
    const equal = revisions.filter((revision) => hasTemplate(dialect, revision, set.spec.template));
    const observed = {
      dialect,
      set,
      nodes: this.#nodes.list(),
      pods: await this.#podOwners.claim(set),
      hashes: [current.revision, ...equal].map((revision) => hashOf(revision, hashLabel)),
      surgeEnabled: this.#options.surgeEnabled,
      backoffMs: (node: string) => this.#backoff.waitSinceLastMs(`${set.metadata.uid}/${node}`),
    };
    const plan = planDaemonSet(observed, clock.now());
    const error = await this.#execute(set, plan, hashOf(current.revision, hashLabel));
    // Do not add a count of zero to the status.
    const { collisionCount } = current;
    const collisions = collisionCount === 0 && set.status?.collisionCount === undefined ? {} : { collisionCount };
    await this.#writeStatus(set, { ...plan.status, ...collisions });
    if (error !== undefined) return retry(error);
    await this.#history.delete(set, excessRevisions(observed, revisions));
    const dueMs = Math.min(
      nextAvailableMs({ metadata: set.metadata, spec: set.spec }, observed.pods, clock.now()) ?? Infinity,
      plan.retryAfterMs ?? Infinity,
    );
    return Number.isFinite(dueMs) ? requeueAfter(dueMs) : done;
  }

  /** Creates and deletes pods, and returns the first failure. */
  async #execute(set: DaemonSet, { creates, deletes }: DaemonSetPlan, hash: string): Promise<unknown> {
    const template = this.#podTemplate(set, hash);
    const waiting = creates.values();
    const creating = slowStart(creates.length, () => this.#create(set, template, waiting.next().value ?? ''));
    const deleting = failuresWithin(deletes, maxConcurrentWrites, (deletion) => this.#delete(set, deletion));
    const [{ error }, [failure]] = await Promise.all([creating, deleting]);
    return error ?? failure;
  }

  #podTemplate(set: DaemonSet, hash: string): PodTemplateSpec {
    const { dialect } = this.#context;
    const { controllerRevisionHash, podTemplateGeneration } = dialect.labels;
    const template = daemonTemplate(dialect, set);
    const generation = templateGenerationOf(set);
    const labels = {
      ...template.metadata?.labels,
      ...(generation === undefined ? {} : { [podTemplateGeneration]: String(generation) }),
      [controllerRevisionHash]: hash,
    };
    return { ...template, metadata: { ...template.metadata, labels } };
  }

  #create(set: DaemonSet, template: PodTemplateSpec, node: string): Promise<void> {
    const { name = '', namespace = '' } = set.metadata;
    const reference = controllerReference(this.#context.dialect, daemonsets, set);
    return this.#podControl.create(
      set,
      podFromTemplate(templateForNode(template, node), { name, namespace }, reference),
    );
  }

  async #delete(set: DaemonSet, { pod, ended }: DaemonDeletion): Promise<void> {
    const { events } = this.#context;
    if (ended?.how === 'failed') {
      this.#backoff.prune();
      this.#backoff.next(`${set.metadata.uid}/${ended.node}`, this.#context.clock.monotonic());
      const message = `Found failed daemon pod ${keyOf(pod)} on node ${ended.node}, will try to kill it`;
      events.record(set, 'Warning', 'FailedDaemonPod', message);
    } else if (ended?.how === 'succeeded') {
      const message = `Found succeeded daemon pod ${keyOf(pod)} on node ${ended.node}, will try to delete it`;
      events.record(set, 'Normal', 'SucceededDaemonPod', message);
    }
    await this.#podControl.delete(set, pod);
  }

  async #writeStatus(set: DaemonSet, status: DaemonSetStatus): Promise<void> {
    if (!isNewStatus(set.status, status)) return;
    try {
      const updated = await this.#context.client.resource(daemonsets).updateStatus({ ...set, status });
      this.#loop.written.wrote(keyOf(set), this.#sets, updated);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

function selectorOf(set: DaemonSet): LabelSelector {
  return selectorFromObject(set.spec.selector);
}

function hashOf(revision: ControllerRevision, label: string): string {
  return revision.metadata.labels?.[label] ?? '';
}
