/**
 * Announces the addresses of load balancers on bare metal: puts those that are this node's on its interfaces, tells the
 * neighbours, and takes off those that are another's.
 *
 * An address is lent to the interface for a time, and lent anew as long as the agent runs: with an agent that has
 * ended, its addresses go too, at about the time when the node counts as silent and another one takes them. An agent
 * that merely does not reach the API server keeps them, so that traffic does not end with the control plane.
 */
import { nodes as nodeType, services as serviceType } from '#api/core/v1/resources.gen.js';
import type { Node, Service } from '#api/core/v1/types.gen.js';
import { keepEndpoints } from '#api/discovery/v1/endpointslice/keep-endpoints.js';
import { endpointslices as sliceType } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import { addressesOf, keepsTrafficLocal } from '#cloud/baremetal/announcers.js';
import type { Logger } from '#daemon/log/logger.js';

/** What the announcer does to the machine. All reject with what went wrong. */
export interface AnnouncerLinks {
  /** True when the address was not there. */
  lend(address: string, seconds: number): Promise<boolean>;
  withdraw(address: string): Promise<void>;
  tellNeighbours(addresses: readonly string[]): Promise<void>;
}

export interface AnnouncerOptions {
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly nodeName: string;
  readonly links: AnnouncerLinks;
}

/** How long an address stays when nobody prolongs that; the time after which a silent node counts as such. */
const lentSeconds = 40;
const renewalMs = 10_000;
/** Frames get lost, and a neighbour that misses the only one would send to the old node for minutes. */
const repeatMs = [1000, 3000];

const announcedIndex = 'announcedService';

/** Looks that changes of many objects ask for at once are one. */
const settleMs = 100;

/** Instants are monotonic ms. */
interface Lent {
  /** When its time is to be prolonged. */
  renewMs: number;
  /** When its neighbours are to be told again, and how often they have been. */
  tellMs: number;
  told: number;
}

export class Announcer {
  readonly #options: AnnouncerOptions;
  readonly #nodes: Informer<Node>;
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #lent = new Map<string, Lent>();
  #wake = new AbortController();

  constructor(options: AnnouncerOptions) {
    this.#options = options;
    this.#nodes = options.informers.informer(nodeType);
    this.#services = options.informers.informer(serviceType);
    this.#slices = options.informers.informer(sliceType, { transform: keepEndpoints });
    this.#slices.addIndexers({ [announcedIndex]: (slice) => [this.#serviceOf(slice)] });
  }

  /** Until `signal` aborts. The addresses stay for the rest of their time: an agent that is restarted interrupts nothing. */
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
        // Caches that are not filled yet would make this node look alone.
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
    const wanted = addressesOf(nodeName, dialect, {
      nodes: this.#nodes.list(),
      services: this.#services.list(),
      nodesWithEndpoints: (service) => this.#nodesWithEndpoints(service),
    });
    for (const address of [...this.#lent.keys()]) if (!wanted.has(address)) await this.#withdraw(address);
    for (const address of wanted) await this.#lend(address);
    const due = [...this.#lent].filter(([, { tellMs }]) => tellMs <= clock.monotonic());
    if (due.length === 0) return;
    try {
      await links.tellNeighbours(due.map(([address]) => address));
    } catch (error) {
      log.error({ err: error }, 'telling the neighbours of addresses failed');
    }
    for (const [, lent] of due) {
      lent.tellMs = clock.monotonic() + (repeatMs[lent.told] ?? Number.POSITIVE_INFINITY);
      lent.told += 1;
    }
  }

  /** Key of the service of a slice; that of none where it has none. */
  #serviceOf({ metadata }: EndpointSlice): string {
    const { serviceName } = this.#options.informers.client.dialect.labels;
    return `${metadata.namespace}/${metadata.labels?.[serviceName] ?? ''}`;
  }

  #nodesWithEndpoints(service: Service): Set<string> {
    const endpoints = this.#slices.byIndex(announcedIndex, keyOf(service)).flatMap((slice) => slice.endpoints);
    return new Set(
      endpoints.flatMap(({ conditions, nodeName }) =>
        nodeName !== undefined && (conditions?.ready ?? true) ? nodeName : [],
      ),
    );
  }

  async #lend(address: string): Promise<void> {
    const { clock, links, log } = this.#options;
    const lent = this.#lent.get(address);
    if (lent !== undefined && lent.renewMs > clock.monotonic()) return;
    try {
      const isNew = await links.lend(address, lentSeconds);
      const renewMs = clock.monotonic() + renewalMs;
      if (lent !== undefined && !isNew) {
        lent.renewMs = renewMs;
        return;
      }
      this.#lent.set(address, { renewMs, tellMs: clock.monotonic(), told: 0 });
      log.info({ address }, 'Announcing the address of a load balancer');
    } catch (error) {
      log.error({ err: error, address }, 'putting the address of a load balancer on an interface failed');
    }
  }

  async #withdraw(address: string): Promise<void> {
    const { links, log } = this.#options;
    try {
      await links.withdraw(address);
      this.#lent.delete(address);
      log.info({ address }, 'Announcing the address of a load balancer no more');
    } catch (error) {
      log.error({ err: error, address }, 'taking the address of a load balancer off failed');
    }
  }

  #pauseMs(): number {
    const now = this.#options.clock.monotonic();
    const due = [...this.#lent.values()].map(({ tellMs, renewMs }) => Math.max(0, Math.min(tellMs, renewMs) - now));
    return Math.min(renewalMs, ...due);
  }
}
