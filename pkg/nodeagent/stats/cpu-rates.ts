/** How much CPU is in use now, out of counters that only grow. */

interface Sample {
  readonly timeMs: number;
  readonly seconds: number;
  readonly nanoCores: number | undefined;
}

/** Counters that are read closer together than this say nothing of a rate. */
const shortestMs = 500;

export class CPURates {
  #samples = new Map<string, Sample>();
  #fresh = new Map<string, Sample>();

  /** Nano cores since the last reading of that counter; undefined at its first, and after it began anew. */
  rate(key: string, seconds: number, timeMs: number): number | undefined {
    const before = this.#samples.get(key);
    const passedMs = timeMs - (before?.timeMs ?? 0);
    if (before !== undefined && passedMs < shortestMs) {
      this.#fresh.set(key, before);
      return before.nanoCores;
    }
    const grown = before !== undefined && seconds >= before.seconds;
    const nanoCores = grown ? Math.round(((seconds - before.seconds) * 1e12) / passedMs) : undefined;
    this.#fresh.set(key, { timeMs, seconds, nanoCores });
    return nanoCores;
  }

  /** Forgets the counters that were not read since this was last called. */
  endRound(): void {
    this.#samples = this.#fresh;
    this.#fresh = new Map();
  }
}
