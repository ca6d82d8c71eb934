/** Updates the condition of every APIService, when it or its Service changes, and every half minute. */
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import type { APIService, APIServiceCondition } from '#api/apiregistration/v1/types.gen.js';
import { endpoints, services } from '#api/core/v1/resources.gen.js';
import type { Endpoints, Service } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { setCondition } from '#api/meta/v1/condition/conditions.js';
import { type Clock, formatTime } from '#apimachinery/clock.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiServices } from '#apiserver/aggregation/api-services.js';
import type { AvailabilityMetrics } from '#apiserver/aggregation/metrics.js';
import type { RemoteService } from '#apiserver/aggregation/remote-service.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Client } from '#client/client.js';
import type { Outcome } from '#client/workqueue/outcome.js';
import { WorkQueue } from '#client/workqueue/queue.js';
import { ItemExponentialRateLimiter } from '#client/workqueue/rate-limiter.js';
import { runWorkers } from '#client/workqueue/workers.js';
import type { Logger } from '#daemon/log/logger.js';

export interface AvailabilityControllerOptions {
  readonly apiServices: ApiServices;
  readonly reader: ObjectReader;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: AvailabilityMetrics;
  /** Requests the server's discovery; returns the failure, if any. */
  readonly check: (remote: RemoteService, signal: AbortSignal) => Promise<Error | undefined>;
}

const concurrency = 5;
const recheckMs = 30_000;
const firstRetryMs = 5;
const maxRetryMs = 30_000;

export class AvailabilityController {
  readonly #options: AvailabilityControllerOptions;
  readonly #queue: WorkQueue;

  constructor(options: AvailabilityControllerOptions) {
    this.#options = options;
    const { clock } = options;
    const rateLimiter = new ItemExponentialRateLimiter<string>(firstRetryMs, maxRetryMs);
    this.#queue = new WorkQueue({ clock, rateLimiter });
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { apiServices, reader, log } = this.#options;
    apiServices.listen((name) => this.#queue.add(name));
    for (const { metadata } of apiServices.values()) this.#queue.add(metadata.name ?? '');
    const follow = <T extends ApiObjectShape>(type: ResourceType<T>) =>
      reader.follow(type, this.#follower<T>(), signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    await Promise.all([
      follow(services),
      follow(endpoints),
      runWorkers(
        { queue: this.#queue, concurrency, reconcile: (name, ending) => this.#sync(name, ending), log },
        signal,
      ),
    ]);
  }

  /** Called when the client certificate has changed. */
  checkAll(): void {
    for (const { name } of this.#options.apiServices.remotes.values()) this.#queue.add(name);
  }

  #follower<T extends ApiObjectShape>(): Follower<T> {
    const enqueue = ({ metadata }: T) => {
      for (const { name, service } of this.#options.apiServices.remotes.values()) {
        if (service.name === metadata.name && service.namespace === metadata.namespace) this.#queue.add(name);
      }
    };
    // Most clusters have many Services and no extension API servers.
    const concerns = () => this.#options.apiServices.remotes.size > 0;
    return { concerns, replaced: (objects) => objects.forEach(enqueue), changed: enqueue, removed: enqueue };
  }

  async #sync(name: string, signal: AbortSignal): Promise<Outcome> {
    const { apiServices, metrics } = this.#options;
    const object = apiServices.get(name);
    if (object === undefined) {
      metrics.gone(name);
      return { kind: 'done' };
    }
    const remote = apiServices.remotes.get(name);
    const availability = remote === undefined ? local : await this.#check(remote, signal);
    if (signal.aborted) return { kind: 'done' };
    metrics.current(name, availability.status === 'True');
    const written = await this.#write(object, availability, signal);
    if (!written) return { kind: 'retry', error: new Error('the APIService has changed meanwhile') };
    if (remote === undefined) return { kind: 'done' };
    // An unresponsive server is checked again soon, with growing delays.
    if (availability.reason === 'FailedDiscoveryCheck')
      return { kind: 'retry', error: new Error(availability.message) };
    return { kind: 'requeueAfter', ms: recheckMs };
  }

  async #check(remote: RemoteService, signal: AbortSignal): Promise<Availability> {
    const { reader, check } = this.#options;
    const { namespace, name } = remote.service;
    const [service, serviceEndpoints] = await Promise.all([
      read(async () => reader.get(services, namespace, name)),
      read(async () => reader.get(endpoints, namespace, name)),
    ]);
    return (
      clusterFault(remote, { service, endpoints: serviceEndpoints }) ?? discoveryResult(await check(remote, signal))
    );
  }

  /** Writes the condition; returns false on a conflict. */
  async #write(object: APIService, availability: Availability, signal: AbortSignal): Promise<boolean> {
    const { client, clock, metrics } = this.#options;
    const before = object.status?.conditions;
    const now = formatTime(clock.now());
    const next = setCondition<APIServiceCondition>(before, { type: 'Available', ...availability }, now);
    if (next === before) return true;
    const { name = '' } = object.metadata;
    try {
      const changed = { ...object, status: { ...object.status, conditions: [...next] } };
      await client.resource<APIService>(apiservices).updateStatus(changed, { signal });
    } catch (error) {
      if (isNotFound(error)) return true;
      if (isConflict(error)) return false;
      throw error;
    }
    const was = availabilityOf(object)?.status === 'True';
    if (was && availability.status !== 'True') metrics.lost(name, availability.reason);
    return true;
  }
}

async function read<T>(get: () => Promise<T | undefined>): Promise<T | undefined | Error> {
  try {
    return await get();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** The condition, as in 1.24's `available_controller.go`. */
export type Availability = Required<Pick<APIServiceCondition, 'status' | 'reason' | 'message'>>;

/** Objects of the cluster; an Error stands for a failed read. */
export interface Observed {
  readonly service: Service | undefined | Error;
  /** Used only if the Service has a cluster IP. */
  readonly endpoints: Endpoints | undefined | Error;
}

const local: Availability = {
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
};

const passed: Availability = { status: 'True', reason: 'Passed', message: 'all checks passed' };

/** A fault in the cluster's objects; undefined: the discovery check decides. Pure. */
export function clusterFault(
  { service: place }: RemoteService,
  { service, endpoints }: Observed,
): Availability | undefined {
  const { namespace, name, port } = place;
  const shown = `service/${name} in ${JSON.stringify(namespace)}`;
  if (service instanceof Error)
    return unknown('ServiceAccessError', `${shown} cannot be checked due to: ${service.message}`);
  if (service === undefined) return failed('ServiceNotFound', `${shown} is not present`);
  if ((service.spec?.type ?? 'ClusterIP') !== 'ClusterIP') return undefined;
  const open = service.spec?.ports?.find((each) => each.port === port);
  if (open === undefined) return failed('ServicePortError', `${shown} is not listening on port ${port}`);
  if (endpoints instanceof Error) {
    return unknown('EndpointsAccessError', `${shown} cannot be checked due to: ${endpoints.message}`);
  }
  if (endpoints === undefined) return failed('EndpointsNotFound', `cannot find endpoints for ${shown}`);
  const portName = open.name ?? '';
  const active = (endpoints.subsets ?? []).some(
    ({ addresses = [], ports = [] }) => addresses.length > 0 && ports.some(({ name: each = '' }) => each === portName),
  );
  if (active) return undefined;
  const text = `endpoints for ${shown} have no addresses with port name ${JSON.stringify(portName)}`;
  return failed('MissingEndpoints', text);
}

/** The result of the discovery check, given its failure or undefined. */
function discoveryResult(failure: Error | undefined): Availability {
  return failure === undefined ? passed : failed('FailedDiscoveryCheck', failure.message);
}

function failed(reason: string, message: string): Availability {
  return { status: 'False', reason, message };
}

function unknown(reason: string, message: string): Availability {
  return { status: 'Unknown', reason, message };
}

/** The object's condition; undefined before the first check. */
function availabilityOf({ status }: APIService): APIServiceCondition | undefined {
  return status?.conditions?.find(({ type }) => type === 'Available');
}
