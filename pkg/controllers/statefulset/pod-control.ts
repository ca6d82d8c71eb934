/** Executes the actions of a stateful set's plan and records events, with reasons and messages of release 1.24. */
import type { StatefulSet } from '#api/apps/v1/types.gen.js';
import { persistentvolumeclaims, pods as podType } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating } from '#controllers/framework/errors.js';
import type { WrittenObjects } from '#controllers/framework/written-objects.js';
import { claimsOf, hasIdentity, ordinalOf, withIdentity } from '#controllers/statefulset/identity.js';
import type { StatefulSetAction } from '#controllers/statefulset/plan.js';
import { withOwners } from '#controllers/statefulset/retention.js';

type Verb = 'create' | 'update' | 'delete';

export interface PodControlOptions {
  readonly context: ControllerContext;
  readonly pods: Informer<Pod>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly written: WrittenObjects;
  /** Whether claims get owners according to the retention policy. */
  readonly autoDeletePVC: boolean;
}

export class StatefulPodControl {
  readonly #options: PodControlOptions;

  constructor(options: PodControlOptions) {
    this.#options = options;
  }

  async execute(set: StatefulSet, action: StatefulSetAction): Promise<void> {
    switch (action.kind) {
      case 'create':
        return this.#create(set, action.pod);
      case 'delete':
        return this.#delete(set, action.pod, action.cause);
      case 'update':
        return this.#update(set, action.pod);
      case 'updateClaims':
        return this.#updateClaims(set, action.pod);
      default:
        return action satisfies never;
    }
  }

  async #create(set: StatefulSet, pod: Pod): Promise<void> {
    const { context, pods, written } = this.#options;
    try {
      await this.#createClaims(set, pod);
      written.wrote(keyOf(set), pods, await context.client.resource(podType).create(pod));
    } catch (error) {
      // No event when the cache does not show the pod yet, or the namespace is being deleted.
      if (!isAlreadyExists(error) && !isNamespaceTerminating(error)) this.#record(set, pod, 'create', error);
      throw error;
    }
    this.#record(set, pod, 'create');
    await this.#updateClaims(set, pod);
  }

  async #delete(set: StatefulSet, pod: Pod, cause: 'failed' | 'succeeded' | undefined): Promise<void> {
    const { context, pods, written } = this.#options;
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    const message = (state: string) => `StatefulSet ${keyOf(set)} is recreating ${state} Pod ${name}`;
    if (cause === 'failed') context.events.record(set, 'Warning', 'RecreatingFailedPod', message('failed'));
    if (cause === 'succeeded') {
      context.events.record(set, 'Normal', 'RecreatingTerminatedPod', message('terminated'));
    }
    try {
      await context.client.resource(podType).delete(name, { namespace, preconditions: { uid } });
      this.#record(set, pod, 'delete');
    } catch (error) {
      if (!isNotFound(error)) {
        this.#record(set, pod, 'delete', error);
        throw error;
      }
    }
    written.deleted(keyOf(set), pods, pod);
  }

  async #update(set: StatefulSet, pod: Pod): Promise<void> {
    const { context, pods, written } = this.#options;
    const { dialect } = context;
    await this.#updateClaims(set, pod);
    if (hasIdentity(dialect, set, pod)) return;
    try {
      await this.#createClaims(set, pod);
      const updated = await context.client.resource(podType).update(withIdentity(dialect, set, pod));
      written.wrote(keyOf(set), pods, updated);
    } catch (error) {
      this.#record(set, pod, 'update', error);
      throw error;
    }
    this.#record(set, pod, 'update');
  }

  /** Creates missing claims. Throws when a claim cannot be created or is being deleted. */
  async #createClaims(set: StatefulSet, pod: Pod): Promise<void> {
    const { context, claims, written } = this.#options;
    const failures: unknown[] = [];
    for (const claim of this.#claimsOf(set, pod)) {
      const { name = '', namespace = '' } = claim.metadata;
      const cached = claims.get(keyFor(namespace, name));
      if (cached?.metadata.deletionTimestamp !== undefined) failures.push(new Error(`pvc ${name} is being deleted`));
      if (cached !== undefined) continue;
      try {
        written.wrote(keyOf(set), claims, await context.client.resource(persistentvolumeclaims).create(claim));
        this.#recordClaim(set, pod, claim);
      } catch (error) {
        if (isNamespaceTerminating(error)) throw error;
        failures.push(new Error(`failed to create PVC ${name}: ${messageOf(error)}`, { cause: error }));
        if (!isAlreadyExists(error)) this.#recordClaim(set, pod, claim, error);
      }
    }
    if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures, 'claims failed');
  }

  async #updateClaims(set: StatefulSet, pod: Pod): Promise<void> {
    const { context, claims, written, autoDeletePVC } = this.#options;
    if (!autoDeletePVC) return;
    for (const { metadata } of this.#claimsOf(set, pod)) {
      const cached = claims.get(keyFor(metadata.namespace, metadata.name ?? ''));
      if (cached === undefined) continue;
      const owned = withOwners(context.dialect, set, pod, cached);
      if (owned === cached) continue;
      try {
        const updated = await context.client.resource(persistentvolumeclaims).update(owned);
        written.wrote(keyOf(set), claims, updated);
      } catch (error) {
        this.#record(set, pod, 'update', error);
        throw error;
      }
    }
  }

  #claimsOf(set: StatefulSet, pod: Pod): Iterable<PersistentVolumeClaim> {
    return claimsOf(set, ordinalOf(set, pod) ?? 0).values();
  }

  #record(set: StatefulSet, pod: Pod, verb: Verb, error?: unknown): void {
    const text = `${verb} Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`;
    this.#recordResult(set, verb, text, 'successful', error);
  }

  #recordClaim(set: StatefulSet, pod: Pod, claim: PersistentVolumeClaim, error?: unknown): void {
    const link = error === undefined ? '' : 'for ';
    const text = `create Claim ${claim.metadata.name} ${link}Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`;
    this.#recordResult(set, 'create', text, 'success', error);
  }

  #recordResult(set: StatefulSet, verb: Verb, text: string, success: string, error: unknown): void {
    const { events } = this.#options.context;
    const title = `${verb.charAt(0).toUpperCase()}${verb.slice(1)}`;
    if (error === undefined) events.record(set, 'Normal', `Successful${title}`, `${text} ${success}`);
    else events.record(set, 'Warning', `Failed${title}`, `${text} failed error: ${messageOf(error)}`);
  }
}
