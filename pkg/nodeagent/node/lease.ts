/** The node's heartbeat: a lease that is renewed long before it expires. */
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import { type Clock, formatMicroTime, pauseClock, upkeepClock } from '#apimachinery/clock.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client, ResourceClient } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';

export interface NodeLeaseOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly nodeName: string;
  readonly leaseDurationSeconds: number;
  /** Owner of the lease, so that it is deleted with the node; undefined before registration. */
  readonly nodeUID: () => string | undefined;
}

/** Leases are renewed after this fraction of their duration. */
const renewFraction = 0.25;
/** Retry delays, as in 1.24; a lease must not expire over a short outage of the API. */
const retryMs = { initialMs: 100, maxMs: 7000 };

export class NodeLease {
  readonly #options: NodeLeaseOptions;
  readonly #leases: ResourceClient<Lease>;
  #lease: Lease | undefined;

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
    this.#leases = options.client.resource(leases);
  }

  /** Renews until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, leaseDurationSeconds } = this.#options;
    const backoff = new Backoff(retryMs);
    let failing = false;
    while (!signal.aborted) {
      try {
        const lease = await this.#renew();
        if (lease === undefined) {
          // The lease needs the node as its owner; wait for registration.
          await pauseClock(clock).sleep(retryMs.initialMs, signal);
          continue;
        }
        this.#lease = lease;
        failing = false;
        backoff.reset();
        await upkeepClock(clock).sleep(leaseDurationSeconds * 1000 * renewFraction, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#lease = undefined;
        if (!failing && !isConflict(error)) log.warn({ err: error }, 'renewing the node lease failed');
        failing = true;
        await pauseClock(clock).sleep(backoff.nextMs(), signal);
      }
    }
  }

  /** Undefined while there is no node to own it. */
  async #renew(): Promise<Lease | undefined> {
    const { client, nodeName: name, clock } = this.#options;
    const namespace = client.dialect.namespaces.nodeLease;
    let current = this.#lease;
    if (current === undefined) {
      try {
        current = await this.#leases.get(name, { namespace });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    const spec = {
      ...current?.spec,
      holderIdentity: name,
      leaseDurationSeconds: this.#options.leaseDurationSeconds,
      renewTime: formatMicroTime(clock.now()),
    };
    const owner = this.#owner();
    if (current !== undefined) {
      const owned = (current.metadata.ownerReferences ?? []).length > 0 || owner === undefined;
      const metadata = owned ? current.metadata : { ...current.metadata, ...owner };
      return this.#leases.update({ ...current, metadata, spec }, { namespace });
    }
    if (owner === undefined) return undefined;
    try {
      return await this.#leases.create({ metadata: { name, namespace, ...owner }, spec }, { namespace });
    } catch (error) {
      if (isAlreadyExists(error)) return this.#leases.get(name, { namespace });
      throw error;
    }
  }

  #owner(): Pick<Lease['metadata'], 'ownerReferences'> | undefined {
    const uid = this.#options.nodeUID();
    if (uid === undefined) return undefined;
    return { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: this.#options.nodeName, uid }] };
  }
}
