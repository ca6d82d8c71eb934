import type { DomainSums } from '#scheduler/cluster/domain-sums.js';

/** A number for each node, such as how many pods of some kind it has, and the sums that follow from it. */
export class NodeCounts {
  readonly #counts = new Map<number, number>();
  readonly #sums = new Set<DomainSums>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(slot: number): number {
    return this.#counts.get(slot) ?? 0;
  }

  add(slot: number, by: number): void {
    if (by === 0) return;
    const count = this.of(slot) + by;
    if (count === 0) this.#counts.delete(slot);
    else this.#counts.set(slot, count);
    this.#total += by;
    for (const sums of this.#sums) sums.changed(slot, by);
  }

  *entries(): Iterable<[slot: number, count: number]> {
    yield* this.#counts;
  }

  follow(sums: DomainSums): void {
    this.#sums.add(sums);
  }

  unfollow(sums: DomainSums): void {
    this.#sums.delete(sums);
  }
}
