/** What one service adds to the table: a pure function of the service, its endpoints and the node. */
import type { Service, ServicePort } from '#api/core/v1/types.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Contribution, NftChain, NftElement, NftSet } from '#proxy/nft/table.js';
import { addressesOf } from '#proxy/services/addresses.js';
import {
  affinityMaps,
  affinityName,
  endpointsMap,
  familyName,
  firstLocalSlot,
  type PickedBy,
  pickChains,
  rememberChain,
} from '#proxy/services/chains.js';
import {
  type Endpoint,
  type EndpointGates,
  endpointsOf,
  type Reachable,
  reachable,
  type TrafficPolicy,
  targetOf,
} from '#proxy/services/endpoints.js';
import { assignSlots } from '#proxy/services/slots.js';
import { coveringRanges } from '#proxy/services/source-ranges.js';
import { type Family, families, type NodeView, type Protocol, type ProxySettings } from '#proxy/services/view.js';

export interface PlanContext {
  readonly dialect: Dialect;
  readonly node: NodeView;
  readonly settings: ProxySettings;
  readonly gates: EndpointGates;
  /** The places of the endpoints of a frontend (see `slotsKey`) in the kernel's map, or what was planned last. */
  readonly previousSlots: (key: string) => readonly string[];
}

/** Where packets for a service arrive. */
export interface Frontend {
  readonly family: Family;
  readonly protocol: Protocol;
  readonly port: number;
  /** Canonical; undefined: a port of the node. */
  readonly address: string | undefined;
  /** The map that remembers its clients, where they stay at their endpoints. */
  readonly affinity: string | undefined;
  /** `address . port` of all that it may lead to. */
  readonly targets: readonly string[];
}

export interface ServicePlan {
  readonly contribution: Contribution;
  readonly frontends: readonly Frontend[];
  /** By the key of their frontend. */
  readonly slots: ReadonlyMap<string, readonly string[]>;
  /** Asked by balancers whether there are endpoints on this node. */
  readonly healthCheck: { readonly port: number; readonly localEndpoints: number } | undefined;
}

/** True for services that are no business of this proxy. */
export function isSkipped({ metadata, spec }: Service, dialect: Dialect): boolean {
  const { labels = {} } = metadata;
  const isOthers = dialect.labels.serviceProxyName in labels || dialect.labels.headlessService in labels;
  const address = spec?.clusterIP ?? '';
  return isOthers || spec?.type === 'ExternalName' || address === '' || address === 'None';
}

export function planService(service: Service, slices: readonly EndpointSlice[], context: PlanContext): ServicePlan {
  const plan = new PlanBuilder(service, context);
  for (const port of service.spec?.ports ?? []) {
    for (const family of families) plan.addPort(port, family, slices);
  }
  return plan.done(slices);
}

class PlanBuilder {
  readonly #service: Service;
  readonly #context: PlanContext;
  readonly #policy: TrafficPolicy;
  readonly #elements = new Map<string, NftElement>();
  readonly #chains = new Map<string, NftChain>();
  readonly #sets = new Map<string, NftSet>();
  readonly #frontends: Frontend[] = [];
  readonly #slots = new Map<string, readonly string[]>();
  /** Seconds; undefined: clients go anywhere. */
  readonly #affinitySeconds: number | undefined;

  constructor(service: Service, context: PlanContext) {
    this.#service = service;
    this.#context = context;
    const { spec } = service;
    this.#policy = {
      isInternalLocal: spec?.internalTrafficPolicy === 'Local',
      isExternalLocal: spec?.externalTrafficPolicy === 'Local',
      isExternal: isExternal(service),
      hints: service.metadata.annotations?.[context.dialect.annotations.topologyAwareHints] ?? '',
    };
    this.#affinitySeconds =
      spec?.sessionAffinity === 'ClientIP'
        ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultAffinitySeconds)
        : undefined;
  }

  addPort(port: ServicePort, family: Family, slices: readonly EndpointSlice[]): void {
    const { spec, status } = this.#service;
    const clusterIPs = addressesOf(family, spec?.clusterIPs ?? [], [spec?.clusterIP]);
    const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
    const balancers = spec?.type === 'LoadBalancer' ? addressesOf(family, ingress) : [];
    const externals = addressesOf(family, spec?.externalIPs ?? []);
    const protocol = (port.protocol ?? 'TCP') as Protocol;
    const query = { portName: port.name ?? '', protocol, family };
    const endpoints = endpointsOf(slices, query, this.#context.node);
    const found = reachable(endpoints, this.#policy, this.#context);
    const at = { family, protocol, port: port.port, affinity: this.#affinityOf(port, family) };
    const { isExternalLocal, isInternalLocal } = this.#policy;
    const internal = isInternalLocal ? { ...found, cluster: found.local } : found;
    for (const address of clusterIPs) this.#addFrontend({ ...at, address }, 'cluster', internal);
    const outside = isExternalLocal ? 'local' : 'external';
    for (const address of externals) this.#addFrontend({ ...at, address }, outside, found);
    for (const address of balancers) {
      this.#addFrontend({ ...at, address }, outside, found);
      this.#addSources({ ...at, address });
    }
    const nodePort = port.nodePort ?? 0;
    // Without an address of the family the service is not for it.
    if (nodePort > 0 && clusterIPs.length > 0)
      this.#addFrontend({ ...at, address: undefined, port: nodePort }, outside, found);
    for (const { address, isLocal } of endpoints) {
      if (isLocal) this.#add(familyName('hairpin', family), `${address} . ${address}`);
    }
  }

  done(slices: readonly EndpointSlice[]): ServicePlan {
    const { spec } = this.#service;
    const port = spec?.healthCheckNodePort ?? 0;
    const isChecked = spec?.type === 'LoadBalancer' && this.#policy.isExternalLocal && port > 0;
    return {
      contribution: {
        elements: [...this.#elements.values()],
        chains: [...this.#chains.values()],
        sets: [...this.#sets.values()],
      },
      frontends: this.#frontends,
      slots: this.#slots,
      healthCheck: isChecked ? { port, localEndpoints: this.#localEndpoints(slices) } : undefined,
    };
  }

  #affinityOf({ name = '', protocol = 'TCP' }: ServicePort, family: Family): string | undefined {
    if (this.#affinitySeconds === undefined) return undefined;
    const { metadata } = this.#service;
    return affinityName(family, `${metadata.namespace}/${metadata.name}:${name}/${protocol}`);
  }

  #addFrontend(at: FrontendPlace, to: PickedBy['to'], { cluster, hasAny, local }: Reachable): void {
    const { address, affinity, family, protocol } = at;
    const key = frontendKey(at);
    const by = address === undefined ? 'node-port' : 'address';
    const locals = to === 'local' ? local : [];
    const targets = [...new Set([...cluster, ...locals].map(targetOf))];
    this.#frontends.push({ ...at, targets });
    const names = by === 'address' ? addressMaps : nodePortMaps;
    const set = (name: string) => familyName(name, family);
    if (targets.length === 0) {
      if (to === 'cluster' && hasAny) this.#add(set(names.services), key, 'drop');
      else if (to === 'local' && hasAny) this.#goTo(set(names.services), key, this.#pick(at, { to, cluster, locals }));
      else this.#add(set(names.none), key, 'goto refuse');
      return;
    }
    this.#goTo(set(names.services), key, this.#pick(at, { to, cluster, locals }));
    const map = endpointsMap(by, family, protocol);
    this.#addSlots(map, key, { targets: cluster.map(targetOf), first: 0 });
    this.#addSlots(map, key, { targets: locals.map(targetOf), first: firstLocalSlot });
    if (this.#affinitySeconds !== undefined && affinity !== undefined) {
      for (const map of affinityMaps(family, affinity)) this.#sets.set(map.name, map);
      this.#goTo(set(names.affinities), key, [rememberChain(family, affinity, this.#affinitySeconds)]);
    }
  }

  #pick(
    { address, affinity, family, protocol }: FrontendPlace,
    { to, cluster, locals }: { to: PickedBy['to']; cluster: readonly Endpoint[]; locals: readonly Endpoint[] },
  ): readonly NftChain[] {
    const pick: PickedBy = {
      family,
      protocol,
      by: address === undefined ? 'node-port' : 'address',
      to,
      count: cluster.length,
      ...(to === 'local' ? { localCount: locals.length } : {}),
      affinity,
    };
    return pickChains(pick, this.#context.settings);
  }

  #addSlots(map: string, key: string, { targets, first }: { targets: readonly string[]; first: number }): void {
    if (targets.length === 0) return;
    const id = slotsKey(map, key, first);
    const slots = assignSlots(this.#context.previousSlots(id), targets);
    this.#slots.set(id, slots);
    for (const [place, target] of slots.entries()) this.#add(map, `${key} . ${first + place}`, target);
  }

  /** Who may reach the address of a load balancer. */
  #addSources(at: FrontendPlace): void {
    const ranges = this.#service.spec?.loadBalancerSourceRanges ?? [];
    if (ranges.length === 0) return;
    const covering = coveringRanges(ranges, at.family);
    if (covering === 'all') return;
    const key = frontendKey(at);
    this.#add(familyName('firewalled', at.family), key);
    for (const range of covering) this.#add(familyName('allowed-sources', at.family), `${key} . ${range}`);
  }

  #goTo(map: string, key: string, [chain, ...others]: readonly NftChain[]): void {
    if (chain === undefined) return;
    for (const each of [chain, ...others]) this.#chains.set(each.name, each);
    this.#add(map, key, `goto ${chain.name}`);
  }

  #add(set: string, key: string, data = ''): void {
    const id = `${set} ${key}`;
    // An address may be given twice, as a balancer's and as an external one.
    if (!this.#elements.has(id)) this.#elements.set(id, { set, key, data });
  }

  /** As a balancer counts: addresses, not ports. */
  #localEndpoints(slices: readonly EndpointSlice[]): number {
    const { node } = this.#context;
    const addresses = new Set<string>();
    for (const port of this.#service.spec?.ports ?? []) {
      const protocol = (port.protocol ?? 'TCP') as Protocol;
      for (const family of families) {
        const endpoints = endpointsOf(slices, { portName: port.name ?? '', protocol, family }, node);
        for (const { address } of reachable(endpoints, this.#policy, this.#context).local) addresses.add(address);
      }
    }
    return addresses.size;
  }
}

/** What tells a frontend from others. */
type FrontendPlace = Omit<Frontend, 'targets'>;

const defaultAffinitySeconds = 10_800;

const addressMaps = {
  services: 'services',
  none: 'no-endpoints',
  affinities: 'affinities',
} as const;

const nodePortMaps = {
  services: 'node-ports',
  none: 'no-node-port-endpoints',
  affinities: 'node-port-affinities',
} as const;

/** `10.96.0.1 . tcp . 80`, or `tcp . 30080` for a port of the node. */
export function frontendKey({ address, port, protocol }: Pick<FrontendPlace, 'address' | 'port' | 'protocol'>): string {
  const end = `${protocol.toLowerCase()} . ${port}`;
  return address === undefined ? end : `${address} . ${end}`;
}

/** Names the places of a frontend's endpoints in a map: those of all nodes, or of this one. */
export function slotsKey(map: string, key: string, first: number): string {
  return `${map} ${key} . ${first}`;
}

function isExternal({ spec }: Service): boolean {
  return spec?.type === 'NodePort' || spec?.type === 'LoadBalancer' || (spec?.externalIPs ?? []).length > 0;
}
