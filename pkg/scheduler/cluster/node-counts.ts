/** Receives changes of a node's count. */
export interface CountFollower {
  changed(slot: number, by: number): void;
}

/** A count per node, such as the number of matching pods, and the derived sums. */
export class NodeCounts {
  readonly #counts = new Map<number, number>();
  readonly #followers = new Set<CountFollower>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  get(slot: number): number {
    return this.#counts.get(slot) ?? 0;
  }

  add(slot: number, by: number): void {
    if (by === 0) return;
    const count = this.get(slot) + by;
    if (count === 0) this.#counts.delete(slot);
    else this.#counts.set(slot, count);
    this.#total += by;
    for (const follower of this.#followers) follower.changed(slot, by);
  }

  *entries(): Iterable<[slot: number, count: number]> {
    yield* this.#counts;
  }

  follow(follower: CountFollower): void {
    this.#followers.add(follower);
  }

  unfollow(follower: CountFollower): void {
    this.#followers.delete(follower);
  }
}
