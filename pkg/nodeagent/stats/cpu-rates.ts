/** Computes current CPU usage from growing counters. */

interface Sample {
  readonly timeMs: number;
  readonly seconds: number;
  readonly nanoCores: number | undefined;
}

/** Minimum time between two samples of a rate. */
const minIntervalMs = 500;

export class CPURates {
  #samples = new Map<string, Sample>();
  #fresh = new Map<string, Sample>();

  /** Nanocores since the counter's last reading; undefined for the first one, and after a reset. */
  rate(key: string, seconds: number, timeMs: number): number | undefined {
    const before = this.#samples.get(key);
    const passedMs = timeMs - (before?.timeMs ?? 0);
    if (before !== undefined && passedMs < minIntervalMs) {
      this.#fresh.set(key, before);
      return before.nanoCores;
    }
    const grown = before !== undefined && seconds >= before.seconds;
    const nanoCores = grown ? Math.round(((seconds - before.seconds) * 1e12) / passedMs) : undefined;
    this.#fresh.set(key, { timeMs, seconds, nanoCores });
    return nanoCores;
  }

  /** Forgets counters that were not read since the last call. */
  endRound(): void {
    this.#samples = this.#fresh;
    this.#fresh = new Map();
  }
}
