/** Follows services and their endpoints, and plans their kernel rules. */
import { services } from '#api/core/v1/resources.gen.js';
import type { Node, Service } from '#api/core/v1/types.gen.js';
import { trimEndpointSlice } from '#api/discovery/v1/endpointslice/trim.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import type { Logger } from '#daemon/log/logger.js';
import type { RuleSource, RuleState } from '#proxy/loop/rule-loop.js';
import type { ProxyMetrics } from '#proxy/metrics/proxy-metrics.js';
import { type Conntrack, staleFlows } from '#proxy/services/conntrack.js';
import type { EndpointGates } from '#proxy/services/endpoints.js';
import type { HealthCheckPorts } from '#proxy/services/health-check-ports.js';
import type { NodeView } from '#proxy/services/proxy-settings.js';
import { type Frontend, frontendOf, isSkipped, type ServiceTable, serviceRoutes } from '#proxy/services/routes.js';

export interface ServiceRulesOptions<Listing, Commands> {
  readonly informers: InformerFactory;
  readonly table: ServiceTable<Listing, Commands>;
  readonly gates: EndpointGates;
  readonly nodeNames: ReadonlySet<string>;
  /** Provides the node's zone. */
  readonly node: Informer<Node>;
  readonly conntrack: Conntrack;
  readonly healthChecks: HealthCheckPorts;
  readonly metrics: ProxyMetrics;
  readonly log: Logger;
}

const byService = 'service';

export class ServiceRules<Listing, Commands> implements RuleSource<Listing, Commands> {
  readonly state: RuleState<Listing, Commands>;
  readonly #options: ServiceRulesOptions<Listing, Commands>;
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice>;
  /** Frontends of the last plan. */
  readonly #frontends = new Map<string, readonly Frontend[]>();
  /** Services to plan again. */
  readonly #dirty = new Set<string>();
  /** Frontends before the changes that are not yet applied. */
  #before = new Map<string, readonly Frontend[]>();
  #isFirst = true;
  #zone: string | undefined;

  constructor(options: ServiceRulesOptions<Listing, Commands>) {
    const { informers, table } = options;
    this.#options = options;
    this.state = table.state;
    this.#services = informers.informer(services);
    this.#slices = informers.informer(endpointslices, { transform: trimEndpointSlice });
    const { serviceName } = this.#labels;
    this.#slices.addIndexers({
      [byService]: ({ metadata }) => [`${metadata.namespace}/${metadata.labels?.[serviceName] ?? ''}`],
    });
  }

  async whenSynced(): Promise<void> {
    await Promise.all([this.#services.whenSynced(), this.#slices.whenSynced(), this.#options.node.whenSynced()]);
  }

  /** Calls `changed` when there is something to plan; returns a function that stops it. */
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

  adopt(listing: Listing | undefined): void {
    this.#options.table.adopt(listing);
  }

  plan(): void {
    const { log, metrics } = this.#options;
    for (const key of this.#dirty) {
      try {
        this.#planOne(key);
      } catch (error) {
        // One failing service must not affect the others.
        log.error({ err: error, service: key }, 'cannot plan the rules of a service');
      }
    }
    this.#dirty.clear();
    if (this.#isFirst) this.#options.table.adopted();
    this.#isFirst = false;
    metrics.serviceChangesPending.set(0);
    metrics.endpointChangesPending.set(0);
  }

  async applied(): Promise<void> {
    const changed = this.#before;
    this.#before = new Map<string, readonly Frontend[]>();
    for (const [key, before] of changed) {
      const after = this.#frontends.get(key) ?? [];
      this.#options.conntrack.forget(staleFlows(before, after));
      await this.#options.table.forgetClients(before, after);
    }
  }

  get #labels() {
    return this.#options.informers.client.dialect.labels;
  }

  #planOne(key: string): void {
    const { gates, healthChecks, informers, nodeNames, table } = this.#options;
    const { dialect } = informers.client;
    const service = this.#services.get(key);
    const old = this.#frontends.get(key);
    if (!this.#before.has(key) && old !== undefined) this.#before.set(key, old);
    if (service === undefined || isSkipped(service, dialect)) {
      this.#frontends.delete(key);
      table.contribute(key, undefined);
      healthChecks.set(key, undefined);
      return;
    }
    const slices = this.#slices
      .byIndex(byService, key)
      .filter(({ metadata }) => !(dialect.labels.serviceProxyName in (metadata.labels ?? {})));
    const node: NodeView = { names: nodeNames, zone: this.#zone };
    const planned = serviceRoutes(service, slices, { dialect, gates, node });
    const frontends = planned.routes.map(frontendOf);
    if (old === undefined && !this.#before.has(key)) this.#before.set(key, this.#beforeFirst(frontends));
    this.#frontends.set(key, frontends);
    table.contribute(key, planned);
    const { namespace = '', name = '' } = service.metadata;
    healthChecks.set(key, planned.healthCheck && { namespace, name, ...planned.healthCheck });
  }

  /** Where frontends of a service without a previous plan were routed: nowhere, or as the kernel had it. */
  #beforeFirst(frontends: readonly Frontend[]): Frontend[] {
    return frontends.map((frontend) => {
      const targets = this.#isFirst ? this.#options.table.ledTo(frontend) : [];
      return targets === undefined ? frontend : { ...frontend, targets };
    });
  }
}
