import { IntColumn, roomFor } from '#scheduler/cluster/columns.js';
import type { CountFollower, NodeCounts } from '#scheduler/cluster/node-counts.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { Topology } from '#scheduler/cluster/topology.js';

/** Counts of nodes, summed up by topology domain; always current. */
export class DomainSums implements CountFollower {
  readonly topology: Topology;
  readonly counts: NodeCounts;
  readonly #eligible: ((node: NodeInfo) => boolean) | undefined;
  /** The domain in which a node counts, -1: in none. */
  readonly #domains = new IntColumn(-1);
  #sums = new Float64Array(8);
  /** Nodes that count, by domain. */
  readonly #nodes = new IntColumn(0);
  #domainCount = 0;
  #nonZero = 0;
  #min: number | undefined;

  /** `eligible`: nodes that count; absent: all that have the label. */
  constructor(topology: Topology, counts: NodeCounts, eligible?: (node: NodeInfo) => boolean) {
    this.topology = topology;
    this.counts = counts;
    this.#eligible = eligible;
  }

  /** True when no domain has any. */
  get isEmpty(): boolean {
    return this.#nonZero === 0;
  }

  /** Domains that have nodes that count. */
  get domainCount(): number {
    return this.#domainCount;
  }

  /** Of the node's domain, whether that node counts or not; 0 for nodes without the label. */
  of(node: NodeInfo): number {
    return this.#sums[this.topology.domainOf(node.slot)] ?? 0;
  }

  /** Of the domain that has least; undefined when there is no domain. */
  get min(): number | undefined {
    if (this.#min === undefined && this.#domainCount > 0) {
      let min = Number.POSITIVE_INFINITY;
      const nodes = this.#nodes.data;
      for (let domain = 0; domain < nodes.length; domain++) {
        if ((nodes[domain] ?? 0) > 0) min = Math.min(min, this.#sums[domain] ?? 0);
      }
      this.#min = min;
    }
    return this.#min;
  }

  /** The node's count has changed by so much. */
  changed(slot: number, by: number): void {
    const domain = this.#domains.at(slot);
    if (domain >= 0) this.#add(domain, by);
  }

  /** The node came, went or has other labels. */
  nodeChanged(node: NodeInfo): void {
    const { slot } = node;
    const old = this.#domains.at(slot);
    let now = node.node === undefined ? -1 : this.topology.domainOf(slot);
    if (now >= 0 && this.#eligible !== undefined && !this.#eligible(node)) now = -1;
    if (old === now) return;
    const count = this.counts.of(slot);
    this.#domains.set(slot, now);
    if (old >= 0) this.#move(old, -1, -count);
    if (now >= 0) this.#move(now, 1, count);
  }

  #move(domain: number, nodes: 1 | -1, by: number): void {
    const before = this.#nodes.at(domain);
    this.#nodes.set(domain, before + nodes);
    if (before === 0) this.#domainCount++;
    if (before + nodes === 0) this.#domainCount--;
    this.#add(domain, by);
    this.#min = undefined;
  }

  #add(domain: number, by: number): void {
    if (by === 0) return;
    this.#sums = roomFor(this.#sums, domain);
    const before = this.#sums[domain] ?? 0;
    const after = before + by;
    this.#sums[domain] = after;
    if (before === 0) this.#nonZero++;
    if (after === 0) this.#nonZero--;
    if (this.#min !== undefined && (before === this.#min || after < this.#min)) {
      this.#min = after < this.#min ? after : undefined;
    }
  }
}
