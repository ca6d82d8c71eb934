/** Which workers are held: a pure decision over what was seen of their beats. */

export interface LivenessOptions {
  /** A worker that does not beat for so long is held. */
  readonly heldMs: number;
  /** How often one looks. */
  readonly periodMs: number;
}

interface Seen {
  readonly beats: number;
  readonly atMs: number;
}

export class Liveness {
  readonly #options: LivenessOptions;
  readonly #seen = new Map<number, Seen>();
  #lookedMs: number | undefined;

  constructor(options: LivenessOptions) {
    this.#options = options;
  }

  /**
   * The workers that are held. `beats` of each that is to be watched; `nowMs` is monotonic. Where the look itself comes
   * late, the machine did not run, and nobody can be blamed for that time.
   */
  look(beats: ReadonlyMap<number, number>, nowMs: number): number[] {
    const { heldMs, periodMs } = this.#options;
    const late = this.#lookedMs !== undefined && nowMs - this.#lookedMs > 3 * periodMs;
    this.#lookedMs = nowMs;
    for (const worker of this.#seen.keys()) if (!beats.has(worker)) this.#seen.delete(worker);
    const held: number[] = [];
    for (const [worker, count] of beats) {
      const seen = this.#seen.get(worker);
      if (seen === undefined || seen.beats !== count || late) this.#seen.set(worker, { beats: count, atMs: nowMs });
      else if (nowMs - seen.atMs >= heldMs) held.push(worker);
    }
    return held;
  }
}
