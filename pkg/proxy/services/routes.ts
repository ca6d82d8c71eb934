/** Plans where packets of a service arrive and which endpoints they may reach, independent of the backend. Pure. */
import type { Service, ServicePort } from '#api/core/v1/types.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { RuleState } from '#proxy/loop/rule-loop.js';
import { addressesOf, coveringRanges } from '#proxy/services/addresses.js';
import {
  type Endpoint,
  type EndpointGates,
  endpointsOf,
  reachable,
  type TrafficPolicy,
  targetOf,
} from '#proxy/services/endpoints.js';
import { type Family, families, type NodeView, type Protocol } from '#proxy/services/proxy-settings.js';

export interface RouteContext {
  readonly dialect: Dialect;
  readonly node: NodeView;
  readonly gates: EndpointGates;
}

/** An address and port, or node port, of a service. */
export interface Frontend {
  readonly family: Family;
  readonly protocol: Protocol;
  readonly port: number;
  /** Canonical; undefined for node ports. */
  readonly address: string | undefined;
  /** `namespace/name:port/protocol` of the service's port. */
  readonly portKey: string;
  /** Session affinity: seconds after a client's last connection; undefined without affinity. */
  readonly affinitySeconds: number | undefined;
  /** Reachable endpoints as `address . port`. */
  readonly targets: readonly string[];
}

/** A frontend and how its packets are handled. */
export interface Route extends Frontend {
  /** `local`: external clients reach endpoints of this node; pods and the node itself reach all. */
  readonly to: 'cluster' | 'external' | 'local';
  readonly cluster: readonly Endpoint[];
  /** Endpoints of this node, for `local`. */
  readonly local: readonly Endpoint[];
  /** Whether any endpoint exists: packets without a reachable one are dropped then instead of rejected. */
  readonly hasAny: boolean;
  /** Allowed client ranges; undefined: all. */
  readonly sources: readonly string[] | undefined;
}

export interface ServiceRoutes {
  readonly routes: readonly Route[];
  /** Endpoints of this node, which may reach themselves through the service. */
  readonly localEndpoints: readonly { readonly family: Family; readonly address: string }[];
  /** Port at which load balancers check for endpoints on this node. */
  readonly healthCheck: { readonly port: number; readonly localEndpoints: number } | undefined;
}

/** The part of a route that is kept. */
export function frontendOf({ address, affinitySeconds, family, port, portKey, protocol, targets }: Route): Frontend {
  return { address, affinitySeconds, family, port, portKey, protocol, targets };
}

/** True for services that this proxy ignores. */
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
    // Without an address of the family the service does not use it.
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

  /** Client ranges that may reach a load balancer's address. */
  #sources(family: Family): readonly string[] | undefined {
    const ranges = this.#service.spec?.loadBalancerSourceRanges ?? [];
    const covering = ranges.length === 0 ? 'all' : coveringRanges(ranges, family);
    return covering === 'all' ? undefined : covering;
  }

  /** Counts addresses, not ports, as load balancers do; of the family with more of them, since pods may have two. */
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

export interface ServiceTable<Listing, Commands> {
  readonly state: RuleState<Listing, Commands>;
  /** The kernel's rules at the start, before the first `contribute`. */
  adopt(listing: Listing | undefined): void;
  /** Replaces a service's rules; undefined removes them. */
  contribute(key: string, routes: ServiceRoutes | undefined): void;
  /** Called when everything known at the start was contributed. */
  adopted(): void;
  /** Where the kernel routed a frontend at the start, as `address . port`; undefined: unknown. */
  ledTo(frontend: Frontend): readonly string[] | undefined;
  /** Moves clients remembered for a removed endpoint to another one. */
  forgetClients(before: readonly Frontend[], after: readonly Frontend[]): Promise<void>;
}
