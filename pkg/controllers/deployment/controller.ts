/** Rolls out deployments: creates a ReplicaSet for each template and moves pods from the old sets to it. */
import { deployments, replicasets } from '#api/apps/v1/resources.gen.js';
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import { keyFor, keyOf, splitKey } from '#apimachinery/object-key.js';
import { selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter, retry } from '#client/workqueue/outcome.js';
import { hasProgressDeadline, makeCondition, withCondition } from '#controllers/deployment/conditions.js';
import { type DeploymentPlan, planDeployment } from '#controllers/deployment/plan.js';
import { replicasOf } from '#controllers/deployment/replica-counts.js';
import { sameTemplate } from '#controllers/deployment/template-hash.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating } from '#controllers/framework/errors.js';
import { indexByController, ownedBy, ownedOrOrphaned, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { claimObjects, controllerOf, controllerReference } from '#controllers/framework/owners.js';

export interface DeploymentOptions {
  readonly concurrency: number;
}

/** The number of failures after which a deployment waits for a change, as in 1.24. */
const maxRetries = 15;

export class DeploymentController implements Controller {
  readonly name = 'deployment';
  readonly #context: ControllerContext;
  readonly #deployments: Informer<Deployment>;
  readonly #replicaSets: Informer<ReplicaSet>;
  readonly #pods: Informer<Pod>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext, options: DeploymentOptions) {
    this.#context = context;
    this.#deployments = sharedInformer(context.informers, deployments);
    this.#replicaSets = sharedInformer(context.informers, replicasets);
    this.#pods = sharedInformer(context.informers, podType);
    indexByController(this.#replicaSets);
    indexByController(this.#pods);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency: options.concurrency,
      maxRetries,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { queue } = this.#loop;
    const add = (deployment: Deployment) => queue.add(keyOf(deployment));
    await this.#loop.run(signal, [
      this.#deployments.addHandler({ onAdd: add, onUpdate: add, onDelete: add }),
      this.#replicaSets.addHandler({
        onAdd: (set) => this.#enqueueDeployments(set),
        onUpdate: (set, old) => {
          if (controllerOf(old)?.uid !== controllerOf(set)?.uid) this.#enqueueDeployments(old);
          this.#enqueueDeployments(set);
        },
        onDelete: (set) => this.#enqueueDeployments(set),
      }),
      this.#pods.addHandler({
        // The Recreate strategy waits for the last old pod, whose end may not change a ReplicaSet.
        onUpdate: (pod, old) => {
          if (isPodTerminal(pod) && !isPodTerminal(old)) this.#enqueueRecreate(pod);
        },
        onDelete: (pod) => this.#enqueueRecreate(pod),
      }),
    ]);
  }

  #managerOf(set: ReplicaSet): Deployment | undefined {
    const reference = controllerOf(set);
    if (reference?.kind !== deployments.kind) return undefined;
    const deployment = this.#deployments.get(keyFor(set.metadata.namespace, reference.name));
    return deployment?.metadata.uid === reference.uid ? deployment : undefined;
  }

  #enqueueDeployments(set: ReplicaSet): void {
    if (controllerOf(set) !== undefined) {
      const manager = this.#managerOf(set);
      if (manager !== undefined) this.#loop.queue.add(keyOf(manager));
      return;
    }
    for (const deployment of this.#deployments.list(set.metadata.namespace)) {
      if (selectorFromObject(deployment.spec.selector).matches(set.metadata.labels)) {
        this.#loop.queue.add(keyOf(deployment));
      }
    }
  }

  #enqueueRecreate(pod: Pod): void {
    const reference = controllerOf(pod);
    if (reference?.kind !== replicasets.kind) return;
    const set = this.#replicaSets.get(keyFor(pod.metadata.namespace, reference.name));
    const deployment = set === undefined ? undefined : this.#managerOf(set);
    if (deployment?.spec.strategy?.type === 'Recreate') this.#loop.queue.add(keyOf(deployment));
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { client, clock, dialect, events } = this.#context;
    const deployment = this.#deployments.get(key);
    if (deployment === undefined) return done;
    const selector = selectorFromObject(deployment.spec.selector);
    if (selector.isEverything) {
      const message = 'This deployment is selecting all pods. A non-empty selector is required.';
      events.record(deployment, 'Warning', 'SelectingAll', message);
      return this.#observe(deployment);
    }
    const { namespace, name } = splitKey(key);
    const replicaSets = await claimObjects<ReplicaSet>({
      owner: deployment,
      selector,
      objects: ownedOrOrphaned(this.#replicaSets, deployment),
      reference: controllerReference(dialect, deployments, deployment),
      liveOwner: () => client.resource(deployments).get(name, { namespace }),
      client: client.resource(replicasets),
      wrote: (set) => this.#loop.written.wrote(key, this.#replicaSets, set),
    });
    const oldPodsRun = (newest: ReplicaSet | undefined) =>
      replicaSets.some((set) => set.metadata.uid !== newest?.metadata.uid && this.#hasRunningPods(set));
    return this.#execute(deployment, planDeployment({ dialect, deployment, replicaSets, oldPodsRun }, clock.now()));
  }

  #hasRunningPods(set: ReplicaSet): boolean {
    return ownedBy(this.#pods, set.metadata.uid ?? '').some((pod) => !isPodTerminal(pod));
  }

  async #execute(deployment: Deployment, plan: DeploymentPlan): Promise<Outcome> {
    const { client, events } = this.#context;
    const { written } = this.#loop;
    const key = keyOf(deployment);
    const sets = client.resource(replicasets);
    if (plan.rollback !== undefined) {
      const { event, deployment: changed } = plan.rollback;
      written.wrote(key, this.#deployments, await client.resource(deployments).update(changed));
      events.record(deployment, event.type, event.reason, event.message);
      return done;
    }
    if (plan.create !== undefined) {
      const outcome = await this.#create(deployment, plan.create);
      if (outcome !== undefined) return outcome;
    }
    for (const { replicaSet, message } of plan.updates) {
      written.wrote(key, this.#replicaSets, await sets.update(replicaSet));
      if (message !== undefined) events.record(deployment, 'Normal', 'ScalingReplicaSet', message);
    }
    for (const { metadata } of plan.deletes) {
      const { name = '', namespace = '', uid = '', resourceVersion = '' } = metadata;
      try {
        await sets.delete(name, { namespace, preconditions: { uid, resourceVersion } });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      written.deleted(key, this.#replicaSets, { metadata });
    }
    if (plan.status !== undefined) await this.#writeStatus(plan.status);
    return plan.requeueAfterMs === undefined ? done : requeueAfter(plan.requeueAfterMs);
  }

  /** Undefined when the set exists; otherwise the outcome of the reconcile. */
  async #create(deployment: Deployment, newest: ReplicaSet): Promise<Outcome | undefined> {
    const { client, dialect, events } = this.#context;
    const reference = controllerReference(dialect, deployments, deployment);
    const name = newest.metadata.name ?? '';
    try {
      const metadata = { ...newest.metadata, ownerReferences: [reference] };
      const created = await client.resource(replicasets).create({ ...newest, metadata });
      this.#loop.written.wrote(keyOf(deployment), this.#replicaSets, created);
    } catch (error) {
      if (isAlreadyExists(error)) return this.#handleExisting(deployment, newest, error);
      if (isNamespaceTerminating(error)) return done;
      const message = `Failed to create new replica set "${name}": ${messageOf(error)}`;
      events.record(deployment, 'Warning', 'FailedCreate', message);
      await this.#reportFailure(deployment, message);
      return retry(error);
    }
    const size = replicasOf(newest);
    if (size > 0) events.record(deployment, 'Normal', 'ScalingReplicaSet', `Scaled up replica set ${name} to ${size}`);
    return undefined;
  }

  /** The name exists: it is the same set, which the cache does not show yet, or another set with the same hash. */
  async #handleExisting(deployment: Deployment, newest: ReplicaSet, error: unknown): Promise<Outcome | undefined> {
    const { client, dialect } = this.#context;
    const { name = '', namespace = '' } = newest.metadata;
    const live = await client.resource(replicasets).get(name, { namespace });
    const ours = controllerOf(live)?.uid === deployment.metadata.uid;
    if (ours && sameTemplate(dialect, live.spec.template ?? {}, deployment.spec.template)) {
      this.#loop.written.wrote(keyOf(deployment), this.#replicaSets, live);
      return undefined;
    }
    const collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
    await this.#writeStatus({ ...deployment, status: { ...deployment.status, collisionCount } });
    return retry(error);
  }

  async #reportFailure(deployment: Deployment, message: string): Promise<void> {
    if (!hasProgressDeadline(deployment)) return;
    const next = makeCondition('Progressing', 'False', 'FailedCreate', message, this.#context.clock.now());
    const old = deployment.status?.conditions ?? [];
    const conditions = withCondition(old, next);
    if (conditions !== old) {
      await this.#writeStatus({ ...deployment, status: { ...deployment.status, conditions: [...conditions] } });
    }
  }

  async #observe(deployment: Deployment): Promise<Outcome> {
    const observedGeneration = deployment.metadata.generation ?? 0;
    if ((deployment.status?.observedGeneration ?? 0) < observedGeneration) {
      await this.#writeStatus({ ...deployment, status: { ...deployment.status, observedGeneration } });
    }
    return done;
  }

  async #writeStatus(deployment: Deployment): Promise<void> {
    try {
      const updated = await this.#context.client.resource(deployments).updateStatus(deployment);
      this.#loop.written.wrote(keyOf(deployment), this.#deployments, updated);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
