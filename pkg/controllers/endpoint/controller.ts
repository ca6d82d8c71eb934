/** Maintains the Endpoints object of each service with a selector. */
import { endpoints as endpointsType } from '#api/core/v1/resources.gen.js';
import type { Endpoints } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, retry } from '#client/workqueue/outcome.js';
import { selectedPods, selectsPods } from '#controllers/endpoint/members.js';
import { planEndpoints } from '#controllers/endpoint/plan.js';
import { ServicesOfPods } from '#controllers/endpoint/services-of-pods.js';
import { TriggerTimes } from '#controllers/endpoint/trigger-times.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating } from '#controllers/framework/errors.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

export interface EndpointOptions {
  readonly concurrency: number;
  /** The delay that batches pod changes. */
  readonly batchPeriodMs: number;
}

/** The number of failures after which a service waits for a change, as in 1.24. */
const maxRetries = 15;

export class EndpointController implements Controller {
  readonly name = 'endpoint';
  readonly #context: ControllerContext;
  readonly #options: EndpointOptions;
  readonly #members: ServicesOfPods;
  readonly #endpoints: Informer<Endpoints>;
  readonly #loop: ReconcileLoop;
  readonly #triggers = new TriggerTimes();

  constructor(context: ControllerContext, options: EndpointOptions) {
    this.#context = context;
    this.#options = options;
    this.#members = new ServicesOfPods(context);
    this.#endpoints = sharedInformer(context.informers, endpointsType);
    this.#loop = new ReconcileLoop(context, {
      name: 'endpoint',
      concurrency: options.concurrency,
      maxRetries,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { queue } = this.#loop;
    await this.#loop.run(signal, [
      this.#members.watch((key, cause) => {
        if (cause === 'pod' && this.#options.batchPeriodMs > 0) queue.addAfter(key, this.#options.batchPeriodMs);
        else queue.add(key);
      }),
      this.#endpoints.addHandler({
        // The service of an Endpoints object that existed at the start may be deleted. Later objects without a service
        // were created by a user.
        onAdd: (object, initial) => {
          if (initial) queue.add(keyOf(object));
        },
        onDelete: (object) => queue.add(keyOf(object)),
      }),
    ]);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { client, dialect, events } = this.#context;
    const service = this.#members.services.get(key);
    const current = this.#endpoints.get(key);
    if (service === undefined) {
      this.#triggers.forget(key);
      return this.#deleteLeftover(current);
    }
    if (!selectsPods(service)) return done;
    const pods = this.#members.candidates(service);
    const changedAt = this.#triggers.update(key, service, selectedPods(service, pods));
    const action = planEndpoints({ dialect, service, pods, current, changedAt });
    const resource = client.resource(endpointsType);
    try {
      if (action.kind === 'none') return done;
      const { endpoints } = action;
      const written = await (action.kind === 'create' ? resource.create(endpoints) : resource.update(endpoints));
      // The next reconcile waits for the cache, so that its update does not conflict.
      this.#loop.written.wrote(key, this.#endpoints, written);
      return done;
    } catch (error) {
      if (isNamespaceTerminating(error)) return done;
      // The cache lags behind; retry.
      if (action.kind === 'create' && isAlreadyExists(error)) return retry(error);
      const [reason, verb] =
        action.kind === 'create' ? ['FailedToCreateEndpoint', 'create'] : ['FailedToUpdateEndpoint', 'update'];
      const message = `Failed to ${verb} endpoint ${key}: ${messageOf(error)}`;
      const kind = { apiVersion: dialect.apiVersion('core', 'v1'), kind: endpointsType.kind };
      events.record({ ...kind, metadata: service.metadata }, 'Warning', reason ?? '', message);
      return retry(error);
    }
  }

  /** Deletes Endpoints without a service, except locks of leader elections. */
  async #deleteLeftover(current: Endpoints | undefined): Promise<Outcome> {
    const { client, dialect } = this.#context;
    if (current === undefined || current.metadata.annotations?.[dialect.annotations.leader] !== undefined) return done;
    const { name = '', namespace = '', uid = '' } = current.metadata;
    try {
      await client.resource(endpointsType).delete(name, { namespace, preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return done;
  }
}
