/** The contribution of a service to the nftables table, from its routes and previous slots. Pure. */
import type { Service } from '#api/core/v1/types.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import type { Contribution, NftChain, NftElement, NftSet } from '#proxy/nft/table.js';
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
import { targetOf } from '#proxy/services/endpoints.js';
import type { ProxySettings } from '#proxy/services/proxy-settings.js';
import {
  type Frontend,
  frontendOf,
  type Route,
  type RouteContext,
  type ServiceRoutes,
  serviceRoutes,
} from '#proxy/services/routes.js';

export interface TableContext {
  readonly settings: ProxySettings;
  /** A frontend's previous endpoint slots (see `slotsKey`). */
  readonly previousSlots: (key: string) => readonly string[];
}

export type PlanContext = RouteContext & TableContext;

export interface TablePlan {
  readonly contribution: Contribution;
  /** By frontend key. */
  readonly slots: ReadonlyMap<string, readonly string[]>;
}

export interface ServicePlan extends TablePlan, Pick<ServiceRoutes, 'healthCheck'> {
  readonly frontends: readonly Frontend[];
}

export function planService(service: Service, slices: readonly EndpointSlice[], context: PlanContext): ServicePlan {
  const routes = serviceRoutes(service, slices, context);
  return { ...planTable(routes, context), frontends: routes.routes.map(frontendOf), healthCheck: routes.healthCheck };
}

export function planTable({ localEndpoints, routes }: ServiceRoutes, context: TableContext): TablePlan {
  const plan = new PlanBuilder(context);
  for (const route of routes) plan.addRoute(route);
  for (const { address, family } of localEndpoints) plan.add(familyName('hairpin', family), `${address} . ${address}`);
  return plan.done();
}

class PlanBuilder {
  readonly #context: TableContext;
  readonly #elements = new Map<string, NftElement>();
  readonly #chains = new Map<string, NftChain>();
  readonly #sets = new Map<string, NftSet>();
  readonly #slots = new Map<string, readonly string[]>();

  constructor(context: TableContext) {
    this.#context = context;
  }

  addRoute(route: Route): void {
    const { address, affinitySeconds, cluster, family, hasAny, local, protocol, targets, to } = route;
    const key = frontendKey(route);
    const by = address === undefined ? 'node-port' : 'address';
    const names = by === 'address' ? addressMaps : nodePortMaps;
    const set = (name: string) => familyName(name, family);
    if (targets.length === 0) {
      if (to === 'cluster' && hasAny) this.add(set(names.services), key, 'drop');
      else if (to === 'local' && hasAny) this.#goTo(set(names.services), key, this.#pick(route));
      else this.add(set(names.none), key, 'goto refuse');
    } else {
      this.#goTo(set(names.services), key, this.#pick(route));
      const map = endpointsMap(by, family, protocol);
      this.#addSlots(map, key, { targets: cluster.map(targetOf), first: 0 });
      this.#addSlots(map, key, { targets: local.map(targetOf), first: firstLocalSlot });
      const affinity = affinityOf(route);
      if (affinity !== undefined && affinitySeconds !== undefined) {
        for (const each of affinityMaps(family, affinity)) this.#sets.set(each.name, each);
        this.#goTo(set(names.affinities), key, [rememberChain(family, affinity, affinitySeconds)]);
      }
    }
    this.#addSources(route);
  }

  add(set: string, key: string, data = ''): void {
    const id = `${set} ${key}`;
    // An address may occur twice, as a load balancer's and as an external one.
    if (!this.#elements.has(id)) this.#elements.set(id, { set, key, data });
  }

  done(): TablePlan {
    return {
      contribution: {
        elements: [...this.#elements.values()],
        chains: [...this.#chains.values()],
        sets: [...this.#sets.values()],
      },
      slots: this.#slots,
    };
  }

  #pick(route: Route): readonly NftChain[] {
    const { address, cluster, family, local, protocol, to } = route;
    const pick: PickedBy = {
      family,
      protocol,
      by: address === undefined ? 'node-port' : 'address',
      to,
      count: cluster.length,
      ...(to === 'local' ? { localCount: local.length } : {}),
      affinity: affinityOf(route),
    };
    return pickChains(pick, this.#context.settings);
  }

  #addSlots(map: string, key: string, { targets, first }: { targets: readonly string[]; first: number }): void {
    if (targets.length === 0) return;
    const id = slotsKey(map, key, first);
    const slots = assignSlots(this.#context.previousSlots(id), targets);
    this.#slots.set(id, slots);
    for (const [place, target] of slots.entries()) this.add(map, `${key} . ${first + place}`, target);
  }

  #addSources(route: Route): void {
    const { family, sources } = route;
    if (sources === undefined) return;
    const key = frontendKey(route);
    this.add(familyName('firewalled', family), key);
    for (const range of sources) this.add(familyName('allowed-sources', family), `${key} . ${range}`);
  }

  #goTo(map: string, key: string, [chain, ...others]: readonly NftChain[]): void {
    if (chain === undefined) return;
    for (const each of [chain, ...others]) this.#chains.set(each.name, each);
    this.add(map, key, `goto ${chain.name}`);
  }
}

/** The map that remembers a frontend's clients, with session affinity. */
export function affinityOf({ affinitySeconds, family, portKey }: Frontend): string | undefined {
  return affinitySeconds === undefined ? undefined : affinityName(family, portKey);
}

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

/** `10.96.0.1 . tcp . 80`, or `tcp . 30080` for a node port. */
export function frontendKey({ address, port, protocol }: Pick<Frontend, 'address' | 'port' | 'protocol'>): string {
  const end = `${protocol.toLowerCase()} . ${port}`;
  return address === undefined ? end : `${address} . ${end}`;
}

/** Key of a frontend's slots in a map: those of all nodes, or of this one. */
export function slotsKey(map: string, key: string, first: number): string {
  return `${map} ${key} . ${first}`;
}

/**
 * Assigns endpoints to numbered slots. Endpoints keep their slots, so a change costs at most two map elements per
 * endpoint.
 * @param targets Without duplicates.
 */
function assignSlots(previous: readonly string[], targets: readonly string[]): string[] {
  const missing = new Set(targets);
  const slots: (string | undefined)[] = [];
  for (let place = 0; place < targets.length; place++) {
    const before = previous[place];
    slots.push(before !== undefined && missing.delete(before) ? before : undefined);
  }
  const rest = missing.values();
  return slots.map((slot) => slot ?? (rest.next().value as string));
}
