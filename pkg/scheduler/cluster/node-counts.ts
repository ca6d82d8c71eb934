/** Hears that a node's number has changed by so much. */
export interface CountFollower {
  changed(slot: number, by: number): void;
}

/** A number for each node, such as how many pods of some kind it has, and the sums that follow from it. */
export class NodeCounts {
  readonly #counts = new Map<number, number>();
  readonly #followers = new Set<CountFollower>();
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
