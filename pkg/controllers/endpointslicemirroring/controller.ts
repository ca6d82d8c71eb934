/** Mirrors Endpoints objects that users or other programs maintain into endpoint slices. */
import { endpoints as endpointsType, services as serviceType } from '#api/core/v1/resources.gen.js';
import type { EndpointAddress, EndpointSubset, Endpoints, Service } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { Endpoint, EndpointPort, EndpointSlice } from '#api/discovery/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, retry } from '#client/workqueue/outcome.js';
import { familyOf } from '#controllers/endpoint/members.js';
import { type EndpointGroup, endpointId, groupId } from '#controllers/endpointslice/desired.js';
import { executeSlicePlan } from '#controllers/endpointslice/execute.js';
import { planSlices } from '#controllers/endpointslice/plan.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating } from '#controllers/framework/errors.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { controllerReference } from '#controllers/framework/owners.js';

export interface EndpointSliceMirroringOptions {
  readonly concurrency: number;
  /** The delay that batches changes. */
  readonly batchPeriodMs: number;
  readonly maxEndpointsPerSubset: number;
}

/** The number of failures after which an Endpoints object waits for a change, as in 1.24. */
const maxRetries = 15;
/** Index of slices by the Endpoints that they mirror. */
const mirrorIndex = 'mirrored';

export class EndpointSliceMirroringController implements Controller {
  readonly name = 'endpointslicemirroring';
  readonly #context: ControllerContext;
  readonly #options: EndpointSliceMirroringOptions;
  readonly #services: Informer<Service>;
  readonly #endpoints: Informer<Endpoints>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext, options: EndpointSliceMirroringOptions) {
    this.#context = context;
    this.#options = options;
    this.#services = sharedInformer(context.informers, serviceType);
    this.#endpoints = sharedInformer(context.informers, endpointsType);
    this.#slices = sharedInformer(context.informers, endpointslices);
    this.#slices.addIndexers({ [mirrorIndex]: (slice) => [this.#mirrored(slice) ?? ''] });
    this.#loop = new ReconcileLoop(context, {
      name: 'endpoint_slice_mirroring',
      concurrency: options.concurrency,
      maxRetries,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { queue } = this.#loop;
    const { batchPeriodMs } = this.#options;
    const add = (object: Endpoints | Service) => {
      if (batchPeriodMs > 0) queue.addAfter(keyOf(object), batchPeriodMs);
      else queue.add(keyOf(object));
    };
    const enqueueMirrored = (slice: EndpointSlice) => {
      const key = this.#mirrored(slice);
      if (key !== undefined) queue.add(key);
    };
    await this.#loop.run(signal, [
      this.#endpoints.addHandler({ onAdd: add, onUpdate: add, onDelete: add }),
      this.#services.addHandler({ onAdd: add, onUpdate: add, onDelete: add }),
      this.#slices.addHandler({
        onAdd: enqueueMirrored,
        onUpdate: enqueueMirrored,
        onDelete: enqueueMirrored,
      }),
    ]);
  }

  /** The key of the mirrored Endpoints; undefined for slices of other controllers. */
  #mirrored({ metadata }: EndpointSlice): string | undefined {
    const { dialect } = this.#context;
    const name = metadata.labels?.[dialect.labels.serviceName];
    const ours = metadata.labels?.[dialect.labels.endpointSliceManagedBy] === mirrorManager(dialect);
    return ours && name !== undefined ? keyFor(metadata.namespace, name) : undefined;
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { client, dialect, events } = this.#context;
    const { maxEndpointsPerSubset } = this.#options;
    const endpoints = this.#endpoints.get(key);
    const slices = this.#slices.byIndex(mirrorIndex, key);
    const mirrored = endpoints !== undefined && shouldMirror(dialect, this.#services.get(key), endpoints);
    if (!mirrored && slices.length === 0) return done;
    const plan = planSlices({
      groups: mirrored ? mirroredGroups(endpoints, maxEndpointsPerSubset) : new Map(),
      slices: slices.filter((slice) => slice.metadata.deletionTimestamp === undefined),
      blank: (group) => this.#blank(endpoints, group),
      maxEndpoints: maxEndpointsPerSubset,
      addressTypes: [],
    });
    try {
      await executeSlicePlan({ client, key, plan, written: this.#loop.written, cache: this.#slices });
      return done;
    } catch (error) {
      if (isNamespaceTerminating(error)) return done;
      const message = `Error updating mirrored Endpoint Slices for Endpoints ${key}: ${messageOf(error)}`;
      if (endpoints !== undefined) events.record(endpoints, 'Warning', 'FailedToUpdateEndpointSlices', message);
      return retry(error);
    }
  }

  #blank(
    endpoints: Endpoints | undefined,
    { addressType, ports }: Pick<EndpointGroup, 'addressType' | 'ports'>,
  ): EndpointSlice {
    const { dialect } = this.#context;
    const { name = '', namespace = '', labels, annotations = {} } = endpoints?.metadata ?? {};
    const { endpointsLastChange, lastApplied } = dialect.annotations;
    const { [endpointsLastChange]: _last, [lastApplied]: _applied, ...others } = annotations;
    return {
      metadata: {
        generateName: `${name}-`,
        namespace,
        labels: {
          ...labels,
          [dialect.labels.serviceName]: name,
          [dialect.labels.endpointSliceManagedBy]: mirrorManager(dialect),
        },
        annotations: others,
        ...(endpoints === undefined
          ? {}
          : { ownerReferences: [controllerReference(dialect, endpointsType, endpoints)] }),
      },
      addressType,
      endpoints: [],
      ports: [...ports],
    };
  }
}

/** The value of the managed-by label. */
function mirrorManager(dialect: Dialect): string {
  return `endpointslicemirroring-controller.${dialect.apiDomain}`;
}

/** Whether the service has no selector, and its Endpoints are neither excluded nor a lock. */
function shouldMirror(dialect: Dialect, service: Service | undefined, endpoints: Endpoints): boolean {
  const { labels = {}, annotations = {}, deletionTimestamp } = endpoints.metadata;
  if (deletionTimestamp !== undefined || labels[dialect.labels.skipMirror] === 'true') return false;
  if (annotations[dialect.annotations.leader] !== undefined) return false;
  return service !== undefined && service.spec.selector === undefined;
}

/** The mirrored endpoints by ports and family, at most `maxPerSubset` addresses per subset. */
export function mirroredGroups(endpoints: Endpoints, maxPerSubset: number): Map<string, EndpointGroup> {
  const groups = new Map<string, EndpointGroup>();
  for (const subset of endpoints.subsets ?? []) {
    const ports = portsOf(subset);
    const all = [
      ...(subset.addresses ?? []).map((address) => endpointOf(address, true)),
      ...(subset.notReadyAddresses ?? []).map((address) => endpointOf(address, false)),
    ];
    for (const endpoint of all.slice(0, maxPerSubset)) {
      const addressType = familyOf(endpoint.addresses[0] ?? '');
      const id = groupId(addressType, ports);
      const group = groups.get(id) ?? { addressType, ports, endpoints: new Map() };
      groups.set(id, group);
      const key = endpointId(endpoint);
      // An address that is ready in one subset and not ready in another counts as ready, as in Endpoints.
      if (!group.endpoints.has(key) || endpoint.conditions?.ready === true) group.endpoints.set(key, endpoint);
    }
  }
  return groups;
}

function portsOf({ ports = [] }: EndpointSubset): EndpointPort[] {
  return ports.map(({ name = '', port, protocol = 'TCP', appProtocol }) => ({
    name,
    port,
    protocol,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  }));
}

function endpointOf({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(targetRef === undefined ? {} : { targetRef }),
  };
}
