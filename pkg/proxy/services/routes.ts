/** Where packets for a service arrive, and whom they may be led to, whatever the program that leads them. Pure. */
import type { Service, ServicePort } from '#api/core/v1/types.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { RuleState } from '#proxy/loop/rule-loop.js';
import { addressesOf, coveringRanges } from '#proxy/services/addresses.js';
import { type Endpoint, type EndpointGates, endpointsOf, reachable, type TrafficPolicy, targetOf } from '#proxy/services/endpoints.js';
import { type Family, families, type NodeView, type Protocol } from '#proxy/services/proxy-settings.js';

export interface RouteContext {
  readonly dialect: Dialect;
  readonly node: NodeView;
  readonly gates: EndpointGates;
}

/** Where packets for a service arrive. */
export interface Frontend {
  readonly family: Family;
  readonly protocol: Protocol;
  readonly port: number;
  /** Canonical; undefined: a port of the node. */
  readonly address: string | undefined;
  /** `namespace/name:port/protocol` of the service's port. */
  readonly portKey: string;
  /** Seconds after its last connection for which a client stays at its endpoint; undefined: clients go anywhere. */
  readonly affinitySeconds: number | undefined;
  /** `address . port` of all that it may lead to. */
  readonly targets: readonly string[];
}

/** A frontend, and what is done with its packets. */
export interface Route extends Frontend {
  /** `local`: from outside to endpoints of this node; pods and the node itself reach all endpoints there, too. */
  readonly to: 'cluster' | 'external' | 'local';
  readonly cluster: readonly Endpoint[];
  /** Of this node, for `local`. */
  readonly local: readonly Endpoint[];
  /** Whether somebody somewhere answers: packets that reach nobody here are then dropped instead of refused. */
  readonly hasAny: boolean;
  /** Ranges of clients that are let in; undefined: all are. */
  readonly sources: readonly string[] | undefined;
}

export interface ServiceRoutes {
  readonly routes: readonly Route[];
  /** Endpoints of this node, which may reach themselves by way of the service. */
  readonly localEndpoints: readonly { readonly family: Family; readonly address: string }[];
  /** Asked by balancers whether there are endpoints on this node. */
  readonly healthCheck: { readonly port: number; readonly localEndpoints: number } | undefined;
}

/** What is remembered of a route. */
export function frontendOf({ address, affinitySeconds, family, port, portKey, protocol, targets }: Route): Frontend {
  return { address, affinitySeconds, family, port, portKey, protocol, targets };
}

/** True for services that are no business of this proxy. */
export function isSkipped({ metadata, spec }: Service, dialect: Dialect): boolean {
  const { labels = {} } = metadata;
  const isOthers = dialect.labels.serviceProxyName in labels || dialect.labels.headlessService in labels;
  const address = spec?.clusterIP ?? '';
  return isOthers || spec?.type === 'ExternalName' || address === '' || address === 'None';
}

export function serviceRoutes(
  service: Service,
  slices: readonly EndpointSlice[],
  context: RouteContext,
): ServiceRoutes {
  const builder = new RouteBuilder(service, slices, context);
  for (const port of service.spec?.ports ?? []) {
    for (const family of families) builder.addPort(port, family);
  }
  return builder.done();
}

class RouteBuilder {
  readonly #service: Service;
  readonly #slices: readonly EndpointSlice[];
  readonly #context: RouteContext;
  readonly #policy: TrafficPolicy;
  readonly #routes: Route[] = [];
  readonly #localEndpoints: { family: Family; address: string }[] = [];

  constructor(service: Service, slices: readonly EndpointSlice[], context: RouteContext) {
    this.#service = service;
    this.#slices = slices;
    this.#context = context;
    const { metadata, spec } = service;
    this.#policy = {
      isInternalLocal: spec?.internalTrafficPolicy === 'Local',
      isExternalLocal: spec?.externalTrafficPolicy === 'Local',
      isExternal: isExternal(service),
      hints: metadata.annotations?.[context.dialect.annotations.topologyAwareHints] ?? '',
    };
  }

  addPort(port: ServicePort, family: Family): void {
    const { spec, status } = this.#service;
    const clusterIPs = addressesOf(family, spec?.clusterIPs ?? [], [spec?.clusterIP]);
    const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
    const balancers = spec?.type === 'LoadBalancer' ? addressesOf(family, ingress) : [];
    const externals = addressesOf(family, spec?.externalIPs ?? []);
    const endpoints = this.#endpointsOf(port, family);
    const reachableEndpoints = reachable(endpoints, this.#policy, this.#context);
    const { isExternalLocal, isInternalLocal } = this.#policy;
    const add = (to: Route['to'], address: string | undefined, sources?: readonly string[]) => {
      const cluster = to === 'cluster' && isInternalLocal ? reachableEndpoints.local : reachableEndpoints.cluster;
      const local = to === 'local' ? reachableEndpoints.local : [];
      const { hasAny } = reachableEndpoints;
      this.#routes.push({
        ...{ family, protocol: protocolOf(port), address, to, cluster, local, hasAny, sources },
        port: address === undefined ? (port.nodePort ?? 0) : port.port,
        portKey: this.#keyOf(port),
        affinitySeconds: affinityOf(this.#service),
        targets: [...new Set([...cluster, ...local].map(targetOf))],
      });
    };
    for (const address of clusterIPs) add('cluster', address);
    const outside = isExternalLocal ? 'local' : 'external';
    for (const address of externals) add(outside, address);
    for (const address of balancers) add(outside, address, this.#sources(family));
    // Without an address of the family the service is not for it.
    if ((port.nodePort ?? 0) > 0 && clusterIPs.length > 0) add(outside, undefined);
    for (const { address, isLocal } of endpoints) if (isLocal) this.#localEndpoints.push({ family, address });
  }

  done(): ServiceRoutes {
    const { spec } = this.#service;
    const port = spec?.healthCheckNodePort ?? 0;
    const isChecked = spec?.type === 'LoadBalancer' && this.#policy.isExternalLocal && port > 0;
    return {
      routes: this.#routes,
      localEndpoints: this.#localEndpoints,
      healthCheck: isChecked ? { port, localEndpoints: this.#countLocal() } : undefined,
    };
  }

  #endpointsOf(port: ServicePort, family: Family): Endpoint[] {
    const query = { portName: port.name ?? '', protocol: protocolOf(port), family };
    return endpointsOf(this.#slices, query, this.#context.node);
  }

  #keyOf({ name = '', protocol = 'TCP' }: ServicePort): string {
    const { metadata } = this.#service;
    return `${metadata.namespace}/${metadata.name}:${name}/${protocol}`;
  }

  /** Who may reach the address of a load balancer. */
  #sources(family: Family): readonly string[] | undefined {
    const ranges = this.#service.spec?.loadBalancerSourceRanges ?? [];
    const covering = ranges.length === 0 ? 'all' : coveringRanges(ranges, family);
    return covering === 'all' ? undefined : covering;
  }

  /** As a balancer counts: addresses, not ports; of the family that has more of them, as pods may have two. */
  #countLocal(): number {
    const counts = families.map((family) => {
      const addresses = new Set<string>();
      for (const port of this.#service.spec?.ports ?? []) {
        const { local } = reachable(this.#endpointsOf(port, family), this.#policy, this.#context);
        for (const { address } of local) addresses.add(address);
      }
      return addresses.size;
    });
    return Math.max(...counts);
  }
}

const defaultAffinitySeconds = 10_800;

function affinityOf({ spec }: Service): number | undefined {
  if (spec?.sessionAffinity !== 'ClientIP') return undefined;
  return spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultAffinitySeconds;
}

function protocolOf({ protocol = 'TCP' }: ServicePort): Protocol {
  return protocol as Protocol;
}

function isExternal({ spec }: Service): boolean {
  return spec?.type === 'NodePort' || spec?.type === 'LoadBalancer' || (spec?.externalIPs ?? []).length > 0;
}

/** The kernel's rules of services, whatever the program by which they are made. */

export interface ServiceTable<Listing, Commands> {
  readonly state: RuleState<Listing, Commands>;
  /** What the kernel had at the start, before the first `contribute`. */
  adopt(listing: Listing | undefined): void;
  /** Replaces the rules of a service, by its key; undefined takes them away. */
  contribute(key: string, routes: ServiceRoutes | undefined): void;
  /** Everything known at the start was contributed. */
  adopted(): void;
  /** Where the kernel led a frontend at the start, as `address . port`; undefined: that is not known. */
  ledTo(frontend: Frontend): readonly string[] | undefined;
  /** Clients that were remembered for an endpoint which is none any more go to another. */
  forgetClients(before: readonly Frontend[], after: readonly Frontend[]): Promise<void>;
}
