/** The node's heartbeat: a lease that is renewed long before it ends. */
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { type Clock, formatMicroTime } from '#apimachinery/clock.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client, ResourceClient } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';

export interface NodeLeaseOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly nodeName: string;
  readonly leaseDurationSeconds: number;
  /** Owner of the lease, so that it goes with the node; undefined until the node is known. */
  readonly nodeUID: () => string | undefined;
}

/** Of its duration, after which a lease is renewed. */
const renewFraction = 0.25;
const retryMs = 1000;

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
    let failing = false;
    while (!signal.aborted) {
      try {
        this.#lease = await this.#renew();
        failing = false;
        await clock.sleep(leaseDurationSeconds * 1000 * renewFraction, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#lease = undefined;
        if (!failing && !isConflict(error)) log.warn({ err: error }, 'renewing the node lease failed');
        failing = true;
        await clock.sleep(retryMs, signal);
      }
    }
  }

  async #renew(): Promise<Lease> {
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
    if (current !== undefined) return this.#leases.update({ ...current, spec }, { namespace });
    try {
      return await this.#leases.create({ metadata: { name, namespace, ...this.#owner() }, spec }, { namespace });
    } catch (error) {
      if (isAlreadyExists(error)) return this.#leases.get(name, { namespace });
      throw error;
    }
  }

  #owner(): Pick<Lease['metadata'], 'ownerReferences'> {
    const uid = this.#options.nodeUID();
    if (uid === undefined) return {};
    return { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: this.#options.nodeName, uid }] };
  }
}
