/**
 * Creates and deletes an owner's pods, with events, and records each write for the owner's key. Because the server
 * generates pod names, a lost response to a create requires a list before the owner is reconciled again.
 */
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ApiObject } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating, isUnclear } from '#controllers/framework/errors.js';
import { controllerOf } from '#controllers/framework/owners.js';
import type { WrittenObjects } from '#controllers/framework/written-objects.js';

export interface PodControlOptions {
  readonly context: Pick<ControllerContext, 'client' | 'events'>;
  /** The cache of the owner's controller. */
  readonly pods: Informer<Pod>;
  readonly written: WrittenObjects;
}

export class PodControl {
  readonly #options: PodControlOptions;

  constructor(options: PodControlOptions) {
    this.#options = options;
  }

  /** Throws the API server's error, after an event unless the namespace is being deleted. */
  async create(owner: ApiObject, pod: Pod): Promise<void> {
    const { client, events } = this.#options.context;
    try {
      const created = await client.resource(podType).create(pod);
      this.#options.written.wrote(keyOf(owner), this.#options.pods, created);
      events.record(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${created.metadata.name}`);
    } catch (error) {
      if (isUnclear(error)) this.#unclear(owner, pod);
      if (!isNamespaceTerminating(error)) {
        events.record(owner, 'Warning', 'FailedCreate', `Error creating: ${messageOf(error)}`);
      }
      throw error;
    }
  }

  #unclear(owner: ApiObject, { metadata: { namespace = '', labels = {} } }: Pod): void {
    const { context, pods, written } = this.#options;
    const labelSelector = Object.entries(labels)
      .map((pair) => pair.join('='))
      .join();
    written.unclear(keyOf(owner), pods, async () => {
      const { items } = await context.client.resource(podType).list({ namespace, labelSelector });
      return items.filter((item) => controllerOf(item)?.uid === owner.metadata.uid);
    });
  }

  /** A pod that no longer exists counts as deleted. Throws other errors of the API server, after an event. */
  async delete(owner: ApiObject, pod: Pod): Promise<void> {
    const { client, events } = this.#options.context;
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    try {
      await client.resource(podType).delete(name, { namespace, preconditions: { uid } });
      events.record(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${name}`);
    } catch (error) {
      if (!isNotFound(error)) {
        events.record(owner, 'Warning', 'FailedDelete', `Error deleting: ${messageOf(error)}`);
        throw error;
      }
    }
    this.#options.written.deleted(keyOf(owner), this.#options.pods, pod);
  }
}
