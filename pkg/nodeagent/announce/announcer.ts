/**
 * Announces the addresses of load balancers on bare metal: adds this node's addresses to its interfaces, informs
 * neighbours, and removes other nodes' addresses.
 *
 * An address is added with a limited lifetime and renewed as long as the agent runs. When the agent ends, its addresses
 * expire at about the time when the node counts as silent and another node takes them. An agent that only loses the API
 * server keeps them, so traffic does not depend on the control plane.
 */
import { nodes as nodeType, services as serviceType } from '#api/core/v1/resources.gen.js';
import type { Node, Service } from '#api/core/v1/types.gen.js';
import { trimEndpointSlice } from '#api/discovery/v1/endpointslice/trim.js';
import { endpointslices as sliceType } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import { addressesOf, keepsTrafficLocal } from '#cloud/baremetal/announcers.js';
import type { Logger } from '#daemon/log/logger.js';

/** Operations on the machine's network interfaces. All reject on failure. */
export interface AnnouncerLinks {
  /** Adds or renews the address; true if it was not there. */
  add(address: string, seconds: number): Promise<boolean>;
  remove(address: string): Promise<void>;
  announce(addresses: readonly string[]): Promise<void>;
}

export interface AnnouncerOptions {
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly nodeName: string;
  readonly links: AnnouncerLinks;
}

/** Lifetime of an address without renewal; equals the time after which a node counts as silent. */
const lifetimeSeconds = 40;
const renewalMs = 10_000;
/** Announcements repeat, since a neighbour that loses the only frame would use the old node for minutes. */
const repeatMs = [1000, 3000];

const announcedIndex = 'announcedService';

/** Combines changes of many objects into one pass. */
const settleMs = 100;

/** Instants are monotonic ms. */
interface Announced {
  /** When to renew its lifetime. */
  renewMs: number;
  /** When to announce it again, and the number of announcements so far. */
  announceMs: number;
  announceCount: number;
}

export class Announcer {
  readonly #options: AnnouncerOptions;
  readonly #nodes: Informer<Node>;
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #announced = new Map<string, Announced>();
  #wake = new AbortController();

  constructor(options: AnnouncerOptions) {
    this.#options = options;
    this.#nodes = options.informers.informer(nodeType);
    this.#services = options.informers.informer(serviceType);
    this.#slices = options.informers.informer(sliceType, { transform: trimEndpointSlice });
    this.#slices.addIndexers({ [announcedIndex]: (slice) => [this.#serviceOf(slice)] });
  }

  /** Runs until `signal` aborts. Addresses then stay for the rest of their lifetime, so restarts interrupt nothing. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const changed = () => this.#wake.abort();
    const watch = { onAdd: changed, onUpdate: changed, onDelete: changed };
    const sliceChanged = (slice: EndpointSlice) => {
      const service = this.#services.get(this.#serviceOf(slice));
      if (service !== undefined && keepsTrafficLocal(service)) changed();
    };
    const ends = [
      this.#nodes.addHandler(watch),
      this.#services.addHandler(watch),
      this.#slices.addHandler({ onAdd: sliceChanged, onUpdate: sliceChanged, onDelete: sliceChanged }),
    ];
    try {
      while (!signal.aborted) {
        this.#wake = new AbortController();
        // With unfilled caches, this node would look like the only one.
        const isFilled = this.#nodes.hasSynced() && this.#services.hasSynced() && this.#slices.hasSynced();
        if (isFilled) await this.#pass();
        await clock.sleep(this.#pauseMs(), AbortSignal.any([signal, this.#wake.signal]));
        await clock.sleep(settleMs, signal);
      }
    } finally {
      for (const end of ends) end();
    }
  }

  async #pass(): Promise<void> {
    const { clock, links, log, nodeName, informers } = this.#options;
    const { dialect } = informers.client;
    const ownAddresses = addressesOf(nodeName, dialect, {
      nodes: this.#nodes.list(),
      services: this.#services.list(),
      nodesWithEndpoints: (service) => this.#nodesWithEndpoints(service),
    });
    for (const address of [...this.#announced.keys()]) if (!ownAddresses.has(address)) await this.#remove(address);
    for (const address of ownAddresses) await this.#add(address);
    const due = [...this.#announced].filter(([, { announceMs: tellMs }]) => tellMs <= clock.monotonic());
    if (due.length === 0) return;
    try {
      await links.announce(due.map(([address]) => address));
    } catch (error) {
      log.error({ err: error }, 'announcing addresses to neighbours failed');
    }
    for (const [, entry] of due) {
      entry.announceMs = clock.monotonic() + (repeatMs[entry.announceCount] ?? Number.POSITIVE_INFINITY);
      entry.announceCount += 1;
    }
  }

  /** Key of a slice's service; no service has the key of an unlabelled slice. */
  #serviceOf({ metadata }: EndpointSlice): string {
    const { serviceName } = this.#options.informers.client.dialect.labels;
    return `${metadata.namespace}/${metadata.labels?.[serviceName] ?? ''}`;
  }

  #nodesWithEndpoints(service: Service): Set<string> {
    const endpoints = this.#slices.byIndex(announcedIndex, keyOf(service)).flatMap((slice) => slice.endpoints ?? []);
    return new Set(
      endpoints.flatMap(({ conditions, nodeName }) =>
        nodeName !== undefined && (conditions?.ready ?? true) ? nodeName : [],
      ),
    );
  }

  async #add(address: string): Promise<void> {
    const { clock, links, log } = this.#options;
    const entry = this.#announced.get(address);
    if (entry !== undefined && entry.renewMs > clock.monotonic()) return;
    try {
      const isNew = await links.add(address, lifetimeSeconds);
      const renewMs = clock.monotonic() + renewalMs;
      if (entry !== undefined && !isNew) {
        entry.renewMs = renewMs;
        return;
      }
      this.#announced.set(address, { renewMs, announceMs: clock.monotonic(), announceCount: 0 });
      log.info({ address }, 'announcing a load balancer address');
    } catch (error) {
      log.error({ err: error, address }, 'adding a load balancer address to an interface failed');
    }
  }

  async #remove(address: string): Promise<void> {
    const { links, log } = this.#options;
    try {
      await links.remove(address);
      this.#announced.delete(address);
      log.info({ address }, 'stopped announcing a load balancer address');
    } catch (error) {
      log.error({ err: error, address }, 'removing a load balancer address failed');
    }
  }

  #pauseMs(): number {
    const now = this.#options.clock.monotonic();
    const due = [...this.#announced.values()].map(({ announceMs: tellMs, renewMs }) =>
      Math.max(0, Math.min(tellMs, renewMs) - now),
    );
    return Math.min(renewalMs, ...due);
  }
}
