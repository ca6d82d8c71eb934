import { IntColumn, roomFor } from '#scheduler/cluster/columns.js';
import type { CountFollower, NodeCounts } from '#scheduler/cluster/node-counts.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { Topology } from '#scheduler/cluster/topology.js';

/** Node counts summed by topology domain, kept current. */
export class DomainSums implements CountFollower {
  readonly topology: Topology;
  readonly counts: NodeCounts;
  readonly #eligible: ((node: NodeInfo) => boolean) | undefined;
  /** Domain in which a node counts; -1: none. */
  readonly #domains = new IntColumn(-1);
  #sums = new Float64Array(8);
  /** Number of counted nodes by domain. */
  readonly #nodes = new IntColumn(0);
  #domainCount = 0;
  #nonZero = 0;
  #min: number | undefined;

  /** `eligible`: which nodes count; absent: all with the label. */
  constructor(topology: Topology, counts: NodeCounts, eligible?: (node: NodeInfo) => boolean) {
    this.topology = topology;
    this.counts = counts;
    this.#eligible = eligible;
  }

  /** Whether all sums are zero. */
  get isEmpty(): boolean {
    return this.#nonZero === 0;
  }

  /** Number of domains with counted nodes. */
  get domainCount(): number {
    return this.#domainCount;
  }

  /** The sum of the node's domain, whether or not the node itself counts; 0 for nodes without the label. */
  sumOf(node: NodeInfo): number {
    return this.#sums[this.topology.domainOf(node.slot)] ?? 0;
  }

  /** The smallest sum; undefined if there is no domain. */
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

  /** Adds a change of the node's count. */
  changed(slot: number, by: number): void {
    const domain = this.#domains.at(slot);
    if (domain >= 0) this.#add(domain, by);
  }

  /** Updates a node that was added, removed or relabelled. */
  nodeChanged(node: NodeInfo): void {
    const { slot } = node;
    const old = this.#domains.at(slot);
    let now = node.node === undefined ? -1 : this.topology.domainOf(slot);
    if (now >= 0 && this.#eligible !== undefined && !this.#eligible(node)) now = -1;
    if (old === now) return;
    const count = this.counts.get(slot);
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
