/** Keeps the condition of every APIService, checked when it or what it depends on changes, and every half minute. */
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import type { APIService, APIServiceCondition } from '#api/apiregistration/v1/types.gen.js';
import { endpoints, services } from '#api/core/v1/resources.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { setCondition } from '#api/meta/v1/condition/conditions.js';
import { type Clock, formatTime } from '#apimachinery/clock.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiServices } from '#apiserver/aggregation/api-services.js';
import { type Availability, answered, availabilityOf, foundFault, local } from '#apiserver/aggregation/availability.js';
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
  /** Asks the server; the failure, if it is one. */
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

  /** Until the signal aborts. */
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

  /** The certificate that is shown to them is another one. */
  checkAll(): void {
    for (const { name } of this.#options.apiServices.remotes.values()) this.#queue.add(name);
  }

  #follower<T extends ApiObjectShape>(): Follower<T> {
    const look = ({ metadata }: T) => {
      for (const { name, service } of this.#options.apiServices.remotes.values()) {
        if (service.name === metadata.name && service.namespace === metadata.namespace) this.#queue.add(name);
      }
    };
    // Most clusters have as many Services as APIServices are few.
    const concerns = () => this.#options.apiServices.remotes.size > 0;
    return { concerns, replaced: (objects) => objects.forEach(look), changed: look, removed: look };
  }

  async #sync(name: string, signal: AbortSignal): Promise<Outcome> {
    const { apiServices, metrics } = this.#options;
    const object = apiServices.get(name);
    if (object === undefined) {
      metrics.gone(name);
      return { kind: 'done' };
    }
    const remote = apiServices.remotes.get(name);
    const found = remote === undefined ? local : await this.#look(remote, signal);
    if (signal.aborted) return { kind: 'done' };
    metrics.current(name, found.status === 'True');
    const written = await this.#write(object, found, signal);
    if (!written) return { kind: 'retry', error: new Error('the APIService has changed meanwhile') };
    if (remote === undefined) return { kind: 'done' };
    // A server that does not answer is asked again soon, and then less and less often.
    if (found.reason === 'FailedDiscoveryCheck') return { kind: 'retry', error: new Error(found.message) };
    return { kind: 'requeueAfter', ms: recheckMs };
  }

  async #look(remote: RemoteService, signal: AbortSignal): Promise<Availability> {
    const { reader, check } = this.#options;
    const { namespace, name } = remote.service;
    const [service, found] = await Promise.all([
      read(async () => reader.get(services, namespace, name)),
      read(async () => reader.get(endpoints, namespace, name)),
    ]);
    return foundFault(remote, { service, endpoints: found }) ?? answered(await check(remote, signal));
  }

  /** False when somebody else has changed the object: what is to be written has to be looked at again. */
  async #write(object: APIService, found: Availability, signal: AbortSignal): Promise<boolean> {
    const { client, clock, metrics } = this.#options;
    const before = object.status?.conditions;
    const now = formatTime(clock.now());
    const next = setCondition<APIServiceCondition>(before, { type: 'Available', ...found }, now);
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
    if (was && found.status !== 'True') metrics.lost(name, found.reason);
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
