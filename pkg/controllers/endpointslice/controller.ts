/** Maintains the endpoint slices of each service with a selector. */
import { nodes as nodeType, services as serviceType } from '#api/core/v1/resources.gen.js';
import type { Node, Service } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, retry } from '#client/workqueue/outcome.js';
import { familiesOf, isHeadless, selectedPods, selectsPods } from '#controllers/endpoint/members.js';
import { ServicesOfPods } from '#controllers/endpoint/services-of-pods.js';
import { TriggerTimes } from '#controllers/endpoint/trigger-times.js';
import { desiredGroups, type EndpointGroup } from '#controllers/endpointslice/desired.js';
import { executeSlicePlan } from '#controllers/endpointslice/execute.js';
import { planSlices, type SlicePlan } from '#controllers/endpointslice/plan.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating } from '#controllers/framework/errors.js';
import { indexByNode, podsOfNode, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { controllerReference } from '#controllers/framework/owners.js';

export interface EndpointSliceOptions {
  readonly concurrency: number;
  /** The delay that batches pod changes. */
  readonly batchPeriodMs: number;
  readonly maxEndpointsPerSlice: number;
}

/** The number of failures after which a service waits for a change, as in 1.24. */
const maxRetries = 15;
/** Index of slices by service. */
const serviceIndex = 'service';

export class EndpointSliceController implements Controller {
  readonly name = 'endpointslice';
  readonly #context: ControllerContext;
  readonly #options: EndpointSliceOptions;
  readonly #members: ServicesOfPods;
  readonly #nodes: Informer<Node>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #loop: ReconcileLoop;
  readonly #triggers = new TriggerTimes();

  constructor(context: ControllerContext, options: EndpointSliceOptions) {
    this.#context = context;
    this.#options = options;
    this.#members = new ServicesOfPods(context);
    this.#nodes = sharedInformer(context.informers, nodeType);
    this.#slices = sharedInformer(context.informers, endpointslices);
    indexByNode(this.#members.pods);
    this.#slices.addIndexers({ [serviceIndex]: (slice) => [this.#serviceOf(slice) ?? ''] });
    this.#loop = new ReconcileLoop(context, {
      name: 'endpoint_slice',
      concurrency: options.concurrency,
      maxRetries,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { queue } = this.#loop;
    const { batchPeriodMs } = this.#options;
    const enqueueService = (slice: EndpointSlice) => {
      const service = this.#serviceOf(slice);
      if (service !== undefined) queue.add(service);
    };
    await this.#loop.run(signal, [
      this.#members.watch((key, cause) => {
        if (cause === 'pod' && batchPeriodMs > 0) queue.addAfter(key, batchPeriodMs);
        else queue.add(key);
      }),
      this.#slices.addHandler({
        onAdd: enqueueService,
        onUpdate: (slice, old) => {
          if (this.#serviceOf(old) !== this.#serviceOf(slice)) enqueueService(old);
          enqueueService(slice);
        },
        onDelete: enqueueService,
      }),
      this.#nodes.addHandler({
        onAdd: (node) => this.#zoneChanged(node),
        onUpdate: (node, old) => {
          if (this.#zone(node) !== this.#zone(old)) this.#zoneChanged(node);
        },
      }),
    ]);
  }

  /** The key of the slice's service; undefined for slices of other controllers. */
  #serviceOf({ metadata }: EndpointSlice): string | undefined {
    const { labels, endpointSliceManager } = this.#context.dialect;
    const service = metadata.labels?.[labels.serviceName];
    if (service === undefined || metadata.labels?.[labels.endpointSliceManagedBy] !== endpointSliceManager) {
      return undefined;
    }
    return keyFor(metadata.namespace, service);
  }

  #zone(node: Node): string | undefined {
    return node.metadata.labels?.[this.#context.dialect.labels.zone];
  }

  #zoneChanged(node: Node): void {
    for (const pod of podsOfNode(this.#members.pods, node.metadata.name ?? '')) {
      for (const service of this.#members.servicesOf(pod)) this.#loop.queue.add(keyOf(service));
    }
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { dialect, events } = this.#context;
    const service = this.#members.services.get(key);
    // The garbage collector deletes its slices.
    if (service === undefined) {
      this.#triggers.forget(key);
      return done;
    }
    if (!selectsPods(service) || service.metadata.deletionTimestamp !== undefined) return done;
    const slices = this.#slices.byIndex(serviceIndex, key);
    const pods = this.#members.candidates(service);
    const changedAt = this.#triggers.update(key, service, selectedPods(service, pods));
    const plan = planSlices({
      groups: desiredGroups(dialect, service, pods, (name) => this.#nodes.get(name)),
      slices: slices.filter((slice) => slice.metadata.deletionTimestamp === undefined),
      blank: (group) => this.#blank(service, group),
      maxEndpoints: this.#options.maxEndpointsPerSlice,
      addressTypes: familiesOf(service),
    });
    try {
      const { client } = this.#context;
      await executeSlicePlan({
        client,
        key,
        plan: this.#withChangeTime(plan, changedAt),
        written: this.#loop.written,
        cache: this.#slices,
      });
      return done;
    } catch (error) {
      if (isNamespaceTerminating(error)) return done;
      const message = `Error updating Endpoint Slices for Service ${key}: ${messageOf(error)}`;
      events.record(service, 'Warning', 'FailedToUpdateEndpointSlices', message);
      return retry(error);
    }
  }

  /** Adds the time of the change to the written slices. */
  #withChangeTime({ creates, updates, deletes }: SlicePlan, changedAt: string | undefined): SlicePlan {
    const { endpointsLastChange } = this.#context.dialect.annotations;
    const marked = (slice: EndpointSlice): EndpointSlice => {
      const { [endpointsLastChange]: _last, ...others } = slice.metadata.annotations ?? {};
      const annotations = changedAt === undefined ? others : { ...others, [endpointsLastChange]: changedAt };
      return { ...slice, metadata: { ...slice.metadata, annotations } };
    };
    return { creates: creates.map(marked), updates: updates.map(marked), deletes };
  }

  #blank(service: Service, { addressType, ports }: Pick<EndpointGroup, 'addressType' | 'ports'>): EndpointSlice {
    const { dialect } = this.#context;
    const { name = '', namespace = '' } = service.metadata;
    return {
      metadata: {
        generateName: `${name}-`,
        namespace,
        labels: {
          ...service.metadata.labels,
          ...(isHeadless(service) ? { [dialect.labels.headlessService]: '' } : {}),
          [dialect.labels.serviceName]: name,
          [dialect.labels.endpointSliceManagedBy]: dialect.endpointSliceManager,
        },
        ownerReferences: [controllerReference(dialect, serviceType, service)],
      },
      addressType,
      endpoints: [],
      ports: [...ports],
    };
  }
}
