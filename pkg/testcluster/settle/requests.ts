/** The requests of a cluster's own loops that are under way. */

/** Requests under way, and how many there ever were. */
export class OpenRequests {
  readonly #open = new Map<symbol, string>();
  #begun = 0;

  /** Requests that began or ended so far: it grows with each. */
  get moves(): number {
    return 2 * this.#begun - this.#open.size;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Counts the request until the returned function is called. */
  begin(description: string): () => void {
    const id = Symbol('request');
    this.#begun += 1;
    this.#open.set(id, description);
    return () => void this.#open.delete(id);
  }

  /** Descriptions: user, verb and path. */
  list(): readonly string[] {
    return [...this.#open.values()];
  }
}
