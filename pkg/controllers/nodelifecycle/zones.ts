/**
 * How quickly pods may be evicted from failing nodes, zone by zone: when many nodes of a zone fail at once, moving
 * all their pods at once would hurt more than it helps. Rules of release 1.24.
 */
import type { Node } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Readiness } from '#controllers/nodelifecycle/health.js';

export type ZoneState = 'normal' | 'partialDisruption' | 'fullDisruption';

export interface ZoneOptions {
  /** Nodes per second in a healthy zone. */
  readonly evictionRate: number;
  /** Nodes per second in an unhealthy zone that is large. */
  readonly secondaryEvictionRate: number;
  /** Nodes above which a zone is large. */
  readonly largeClusterSize: number;
  /** Fraction of nodes not ready from which a zone is unhealthy. */
  readonly unhealthyThreshold: number;
}

/** The name of the node's zone in the series of 1.24, where a zero byte keeps regions and zones apart. */
export function zoneOf(dialect: Dialect, node: Node): string {
  const { [dialect.labels.region]: region = '', [dialect.labels.zone]: zone = '' } = node.metadata.labels ?? {};
  return region === '' && zone === '' ? '' : `${region}:\0:${zone}`;
}

export interface ZoneSize {
  readonly name: string;
  /** Nodes, one at least. */
  readonly size: number;
  readonly notReady: number;
}

/** 1 for a node that is there and not ready. */
function counted(readiness: Readiness | undefined): number {
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

export type Leave =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'wait'; readonly ms: number }
  /** Until the zone's state changes. */
  | { readonly kind: 'refused' };

interface Zone {
  readonly nodes: Map<string, Readiness>;
  /** How many of them are not ready. Kept, so that a change costs the same in a zone of thousands. */
  notReady: number;
  state: ZoneState;
  /** When the last node got leave. */
  lastMs: number | undefined;
}

/** The nodes by zone, and the rate at which they get leave to be emptied. */
export class Zones {
  readonly #options: ZoneOptions;
  readonly #zones = new Map<string, Zone>();
  readonly #zoneOfNode = new Map<string, string>();
  #allDisrupted = false;

  constructor(options: ZoneOptions) {
    this.#options = options;
  }

  /** True while no zone has a node that is ready. */
  get allDisrupted(): boolean {
    return this.#allDisrupted;
  }

  sizes(): ZoneSize[] {
    return [...this.#zones].map(([name, { nodes, notReady }]) => ({ name, size: nodes.size, notReady }));
  }

  /** Notes a node's readiness; returns the nodes for which that changes what may be done. */
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
    zone.notReady += counted(readiness) - counted(old);
    return [...affected, ...this.#update(zone)];
  }

  remove(node: string): readonly string[] {
    const name = this.#zoneOfNode.get(node);
    const zone = name === undefined ? undefined : this.#zones.get(name);
    if (name === undefined || zone === undefined) return [];
    this.#zoneOfNode.delete(node);
    zone.notReady -= counted(zone.nodes.get(node));
    zone.nodes.delete(node);
    if (zone.nodes.size === 0) this.#zones.delete(name);
    return this.#update(zone);
  }

  /** Asks for leave to empty the node; `now` in milliseconds that never go backwards. */
  leave(node: string, now: number): Leave {
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
