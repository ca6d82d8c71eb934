/** Follows services and their endpoints, and says what is to be in the services' table. */
import { services } from '#api/core/v1/resources.gen.js';
import type { Node, Service } from '#api/core/v1/types.gen.js';
import { keepEndpoints } from '#api/discovery/v1/endpointslice/keep-endpoints.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import type { Logger } from '#daemon/log/logger.js';
import type { ProxyMetrics } from '#proxy/metrics/proxy-metrics.js';
import type { TableListing } from '#proxy/nft/listing.js';
import type { Nft } from '#proxy/nft/nft.js';
import type { TableSource } from '#proxy/nft/table-loop.js';
import { TableState } from '#proxy/nft/table-state.js';
import { endpointsMap, firstLocalSlot, portsOf } from '#proxy/services/chains.js';
import { type Conntrack, staleFlows } from '#proxy/services/conntrack.js';
import type { EndpointGates } from '#proxy/services/endpoints.js';
import { servicesFrame } from '#proxy/services/frame.js';
import type { HealthCheckPorts } from '#proxy/services/health-check-ports.js';
import {
  type Frontend,
  frontendKey,
  isSkipped,
  planService,
  type ServicePlan,
  slotsKey,
} from '#proxy/services/service-plan.js';
import { families, type NodeView, type ProxySettings, protocols } from '#proxy/services/view.js';

export interface ServiceRulesOptions {
  readonly informers: InformerFactory;
  readonly settings: ProxySettings;
  readonly gates: EndpointGates;
  readonly nodeNames: ReadonlySet<string>;
  /** Where the node's zone is read. */
  readonly node: Informer<Node>;
  readonly nft: Nft;
  readonly conntrack: Conntrack;
  readonly healthChecks: HealthCheckPorts;
  readonly metrics: ProxyMetrics;
  readonly log: Logger;
}

const byService = 'service';

export class ServiceRules implements TableSource {
  readonly state: TableState;
  readonly #options: ServiceRulesOptions;
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #plans = new Map<string, ServicePlan>();
  /** Services to look at again. */
  readonly #dirty = new Set<string>();
  /** Frontends from which an endpoint has gone, or to which one has come, since the kernel was last told. */
  #before = new Map<string, readonly Frontend[]>();
  /** The places that the kernel had at the start. */
  #adopted: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>();
  #isFirst = true;
  #zone: string | undefined;

  constructor(options: ServiceRulesOptions) {
    const { informers, settings } = options;
    this.#options = options;
    this.state = new TableState(servicesFrame(settings));
    this.#services = informers.informer(services);
    this.#slices = informers.informer(endpointslices, { transform: keepEndpoints });
    const { serviceName } = this.#labels;
    this.#slices.addIndexers({
      [byService]: ({ metadata }) => [`${metadata.namespace}/${metadata.labels?.[serviceName] ?? ''}`],
    });
  }

  async whenSynced(): Promise<void> {
    await Promise.all([this.#services.whenSynced(), this.#slices.whenSynced(), this.#options.node.whenSynced()]);
  }

  /** Calls `changed` when there is something to plan; returns what ends that. */
  follow(changed: () => void): () => void {
    const { metrics, node } = this.#options;
    const { serviceName } = this.#labels;
    const touch = (key: string) => {
      this.#dirty.add(key);
      changed();
    };
    const service = (object: Service) => {
      metrics.serviceChanges.inc();
      metrics.serviceChangesPending.inc();
      touch(keyOf(object));
    };
    const slice = ({ metadata }: EndpointSlice) => {
      const name = metadata.labels?.[serviceName];
      if (name === undefined) return;
      metrics.endpointChanges.inc();
      metrics.endpointChangesPending.inc();
      touch(`${metadata.namespace}/${name}`);
    };
    const place = ({ metadata }: Node) => {
      if (!this.#options.nodeNames.has(metadata.name ?? '')) return;
      const zone = metadata.labels?.[this.#labels.zone];
      if (zone === this.#zone) return;
      this.#zone = zone;
      for (const each of this.#services.list()) this.#dirty.add(keyOf(each));
      changed();
    };
    const ends = [
      this.#services.addHandler({ onAdd: service, onUpdate: service, onDelete: service }),
      this.#slices.addHandler({
        onAdd: slice,
        onUpdate(now, old) {
          slice(now);
          if (old.metadata.labels?.[serviceName] !== now.metadata.labels?.[serviceName]) slice(old);
        },
        onDelete: slice,
      }),
      node.addHandler({ onAdd: place, onUpdate: place }),
    ];
    return () => {
      for (const end of ends) end();
    };
  }

  adopt(listing: TableListing | undefined): void {
    this.#adopted = listing === undefined ? new Map<string, readonly string[]>() : slotsOf(listing);
  }

  plan(): void {
    const { log, metrics } = this.#options;
    for (const key of this.#dirty) {
      try {
        this.#planOne(key);
      } catch (error) {
        // The rules of the others are none the worse for it.
        log.error({ err: error, service: key }, 'The rules of a service cannot be made');
      }
    }
    this.#dirty.clear();
    // From now on the plans know the places.
    this.#adopted = new Map<string, readonly string[]>();
    this.#isFirst = false;
    metrics.serviceChangesPending.set(0);
    metrics.endpointChangesPending.set(0);
  }

  async applied(): Promise<void> {
    const changed = this.#before;
    this.#before = new Map<string, readonly Frontend[]>();
    for (const [key, before] of changed) {
      const after = this.#plans.get(key)?.frontends ?? [];
      this.#options.conntrack.forget(staleFlows(before, after));
      await this.#forgetClients(before, after);
    }
  }

  get #labels() {
    return this.#options.informers.client.dialect.labels;
  }

  #planOne(key: string): void {
    const { gates, healthChecks, informers, nodeNames, settings } = this.#options;
    const { dialect } = informers.client;
    const service = this.#services.get(key);
    const old = this.#plans.get(key);
    if (!this.#before.has(key) && old !== undefined) this.#before.set(key, old.frontends);
    if (service === undefined || isSkipped(service, dialect)) {
      this.#plans.delete(key);
      this.state.contribute(key, undefined);
      healthChecks.set(key, undefined);
      return;
    }
    const slices = this.#slices
      .byIndex(byService, key)
      .filter(({ metadata }) => !(dialect.labels.serviceProxyName in (metadata.labels ?? {})));
    const node: NodeView = { names: nodeNames, zone: this.#zone };
    const plan = planService(service, slices, {
      ...{ dialect, gates, node, settings },
      previousSlots: (id) => old?.slots.get(id) ?? this.#adopted.get(id) ?? [],
    });
    if (old === undefined && !this.#before.has(key)) this.#before.set(key, this.#beforeFirst(plan));
    this.#plans.set(key, plan);
    this.state.contribute(key, plan.contribution);
    const { namespace = '', name = '' } = service.metadata;
    healthChecks.set(key, plan.healthCheck && { namespace, name, ...plan.healthCheck });
  }

  /** Where the frontends of a service that was not planned before have led: nowhere, or where the kernel had it. */
  #beforeFirst({ frontends }: ServicePlan): Frontend[] {
    if (this.#isFirst && this.#adopted.size === 0) return [...frontends];
    return frontends.map((frontend) => {
      const by = frontend.address === undefined ? 'node-port' : 'address';
      const map = endpointsMap(by, frontend.family, frontend.protocol);
      const placed = (first: number) => this.#adopted.get(slotsKey(map, frontendKey(frontend), first)) ?? [];
      return { ...frontend, targets: [...new Set([...placed(0), ...placed(firstLocalSlot)])] };
    });
  }

  /** Clients that were remembered for an endpoint which is none any more go to another. */
  async #forgetClients(before: readonly Frontend[], after: readonly Frontend[]): Promise<void> {
    const { nft, settings } = this.#options;
    const maps = new Map<string, Set<string>>();
    for (const { affinity, targets } of after) {
      if (affinity === undefined) continue;
      const all = maps.get(affinity) ?? new Set<string>();
      for (const target of targets) all.add(target);
      maps.set(affinity, all);
    }
    const had = new Map<string, string[]>();
    for (const { affinity, targets } of before)
      if (affinity !== undefined) had.set(affinity, [...(had.get(affinity) ?? []), ...targets]);
    for (const [map, targets] of maps) {
      if ((had.get(map) ?? []).every((target) => targets.has(target))) continue;
      const ports = await nft.listMap(settings.table, portsOf(map));
      const addresses = await nft.listMap(settings.table, map);
      const gone = [...addresses].filter(([client, address]) => !targets.has(`${address} . ${ports.get(client)}`));
      if (gone.length === 0) continue;
      const clients = gone.map(([client]) => client);
      const known = clients.filter((client) => ports.has(client));
      const remove = (of: string, which: readonly string[]) =>
        which.length === 0 ? '' : `delete element inet ${settings.table} ${of} { ${which.join(', ')} }\n`;
      await nft.apply(remove(map, clients) + remove(portsOf(map), known));
    }
  }
}

/** The places of endpoints, by the key of their frontend, as the kernel has them. */
function slotsOf({ sets }: TableListing): Map<string, string[]> {
  const slots = new Map<string, string[]>();
  for (const family of families) {
    const maps = protocols.flatMap((protocol) => [
      endpointsMap('address', family, protocol),
      endpointsMap('node-port', family, protocol),
    ]);
    for (const map of maps) {
      for (const [key, target] of sets.get(map) ?? []) {
        const end = key.lastIndexOf(' . ');
        const number = Number(key.slice(end + 3));
        const first = number >= firstLocalSlot ? firstLocalSlot : 0;
        const id = slotsKey(map, key.slice(0, end), first);
        const known = slots.get(id) ?? [];
        known[number - first] = target;
        slots.set(id, known);
      }
    }
  }
  return slots;
}
