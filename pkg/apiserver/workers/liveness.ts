/** Detects workers whose event loop is stuck, from their heartbeats. Pure. */

export interface LivenessOptions {
  /** A worker that sends no heartbeat for this long is stuck. */
  readonly stuckMs: number;
  /** Period of `check`. */
  readonly periodMs: number;
}

interface LastBeat {
  readonly beats: number;
  readonly atMs: number;
}

export class Liveness {
  readonly #options: LivenessOptions;
  readonly #last = new Map<number, LastBeat>();
  #checkedMs: number | undefined;

  constructor(options: LivenessOptions) {
    this.#options = options;
  }

  /**
   * The stuck workers. `beats`: the count of heartbeats by worker; `nowMs` is monotonic. After a late check all workers get a
   * fresh start: the machine was probably suspended.
   */
  check(beats: ReadonlyMap<number, number>, nowMs: number): number[] {
    const { stuckMs, periodMs } = this.#options;
    const suspended = this.#checkedMs !== undefined && nowMs - this.#checkedMs > 3 * periodMs;
    this.#checkedMs = nowMs;
    for (const worker of this.#last.keys()) if (!beats.has(worker)) this.#last.delete(worker);
    const stuck: number[] = [];
    for (const [worker, count] of beats) {
      const last = this.#last.get(worker);
      if (last === undefined || last.beats !== count || suspended)
        this.#last.set(worker, { beats: count, atMs: nowMs });
      else if (nowMs - last.atMs >= stuckMs) stuck.push(worker);
    }
    return stuck;
  }
}
