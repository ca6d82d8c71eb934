/** Which threads are held: a pure decision over what was seen of their beats. */

export interface LivenessOptions {
  /** A thread that does not beat for so long is held. */
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
   * The threads that are held. `beats` of each that is to be watched; `nowMs` is monotonic. Where the look itself comes
   * late, the machine did not run, and nobody can be blamed for that time.
   */
  look(beats: ReadonlyMap<number, number>, nowMs: number): number[] {
    const { heldMs, periodMs } = this.#options;
    const late = this.#lookedMs !== undefined && nowMs - this.#lookedMs > 3 * periodMs;
    this.#lookedMs = nowMs;
    for (const thread of this.#seen.keys()) if (!beats.has(thread)) this.#seen.delete(thread);
    const held: number[] = [];
    for (const [thread, count] of beats) {
      const seen = this.#seen.get(thread);
      if (seen === undefined || seen.beats !== count || late) this.#seen.set(thread, { beats: count, atMs: nowMs });
      else if (nowMs - seen.atMs >= heldMs) held.push(thread);
    }
    return held;
  }
}
