/**
 * Limits the rate of evictions per zone, because moving the pods of many failed nodes at once does more harm than good.
 * Rules of release 1.24.
 */
import type { Node } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Readiness } from '#controllers/nodelifecycle/health.js';

export type ZoneState = 'normal' | 'partialDisruption' | 'fullDisruption';

export interface ZoneOptions {
  /** Nodes per second in a healthy zone. */
  readonly evictionRate: number;
  /** Nodes per second in a large unhealthy zone. */
  readonly secondaryEvictionRate: number;
  /** A zone with more nodes is large. */
  readonly largeClusterSize: number;
  /** A zone with at least this fraction of nodes that are not ready is unhealthy. */
  readonly unhealthyThreshold: number;
}

/** The name of the node's zone in 1.24's metrics, with a zero byte between region and zone. */
export function zoneOf(dialect: Dialect, node: Node): string {
  const { [dialect.labels.region]: region = '', [dialect.labels.zone]: zone = '' } = node.metadata.labels ?? {};
  return region === '' && zone === '' ? '' : `${region}:\0:${zone}`;
}

export interface ZoneSize {
  readonly name: string;
  /** The number of nodes, at least one. */
  readonly size: number;
  readonly notReady: number;
}

/** 1 for an existing node that is not ready. */
function notReadyCount(readiness: Readiness | undefined): number {
  return readiness === undefined || readiness === 'True' ? 0 : 1;
}

/** Pure. */
export function zoneState(
  { size, notReady }: Pick<ZoneSize, 'size' | 'notReady'>,
  unhealthyThreshold: number,
): ZoneState {
  if (notReady > 0 && notReady === size) return 'fullDisruption';
  return notReady > 2 && notReady / size >= unhealthyThreshold ? 'partialDisruption' : 'normal';
}

/** Nodes per second. Pure. */
export function evictionRate(state: ZoneState, size: number, options: ZoneOptions): number {
  if (state !== 'partialDisruption') return options.evictionRate;
  return size > options.largeClusterSize ? options.secondaryEvictionRate : 0;
}

export type EvictionPermit =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'wait'; readonly ms: number }
  /** Not before the zone's state changes. */
  | { readonly kind: 'refused' };

interface Zone {
  readonly nodes: Map<string, Readiness>;
  /** The number of nodes that are not ready, maintained so that updates take constant time. */
  notReady: number;
  state: ZoneState;
  /** When the last eviction was allowed. */
  lastMs: number | undefined;
}

/** Tracks the nodes of all zones, and allows evictions at each zone's rate. */
export class Zones {
  readonly #options: ZoneOptions;
  readonly #zones = new Map<string, Zone>();
  readonly #zoneOfNode = new Map<string, string>();
  #allDisrupted = false;

  constructor(options: ZoneOptions) {
    this.#options = options;
  }

  /** True while no zone has a ready node. */
  get allDisrupted(): boolean {
    return this.#allDisrupted;
  }

  sizes(): ZoneSize[] {
    return [...this.#zones].map(([name, { nodes, notReady }]) => ({ name, size: nodes.size, notReady }));
  }

  /** Records a node's readiness. Returns the nodes whose eviction this may affect. */
  set(node: string, zoneName: string, readiness: Readiness): readonly string[] {
    const affected: string[] = [];
    const before = this.#zoneOfNode.get(node);
    if (before !== undefined && before !== zoneName) affected.push(...this.remove(node));
    let zone = this.#zones.get(zoneName);
    if (zone === undefined) {
      zone = { nodes: new Map(), notReady: 0, state: 'normal', lastMs: undefined };
      this.#zones.set(zoneName, zone);
    }
    this.#zoneOfNode.set(node, zoneName);
    const old = zone.nodes.get(node);
    if (old === readiness) return affected;
    zone.nodes.set(node, readiness);
    zone.notReady += notReadyCount(readiness) - notReadyCount(old);
    return [...affected, ...this.#update(zone)];
  }

  remove(node: string): readonly string[] {
    const name = this.#zoneOfNode.get(node);
    const zone = name === undefined ? undefined : this.#zones.get(name);
    if (name === undefined || zone === undefined) return [];
    this.#zoneOfNode.delete(node);
    zone.notReady -= notReadyCount(zone.nodes.get(node));
    zone.nodes.delete(node);
    if (zone.nodes.size === 0) this.#zones.delete(name);
    return this.#update(zone);
  }

  /** Requests the eviction of a node's pods; `now` in monotonic ms. */
  requestEviction(node: string, now: number): EvictionPermit {
    const zone = this.#zones.get(this.#zoneOfNode.get(node) ?? '');
    if (zone === undefined || this.#allDisrupted) return { kind: 'refused' };
    const rate = evictionRate(zone.state, zone.nodes.size, this.#options);
    if (rate <= 0) return { kind: 'refused' };
    const nextMs = zone.lastMs === undefined ? now : zone.lastMs + 1000 / rate;
    if (nextMs > now) return { kind: 'wait', ms: nextMs - now };
    zone.lastMs = now;
    return { kind: 'allowed' };
  }

  #update(zone: Zone): readonly string[] {
    const state = zoneState({ size: zone.nodes.size, notReady: zone.notReady }, this.#options.unhealthyThreshold);
    const changed = state !== zone.state;
    zone.state = state;
    const zones = [...this.#zones.values()];
    const allDisrupted = zones.length > 0 && zones.every((each) => each.state === 'fullDisruption');
    if (allDisrupted !== this.#allDisrupted) {
      this.#allDisrupted = allDisrupted;
      return [...this.#zoneOfNode.keys()];
    }
    return changed ? [...zone.nodes.keys()] : [];
  }
}
