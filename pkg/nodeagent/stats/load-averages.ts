/** How many tasks ran lately, smoothed over ten seconds as cAdvisor does, out of samples whenever somebody asks. */

interface Sample {
  readonly timeMs: number;
  readonly average: number;
}

const windowMs = 10_000;

export class LoadAverages {
  #samples = new Map<string, Sample>();
  #fresh = new Map<string, Sample>();

  /** Tasks that run, times a thousand, rounded down. `timeMs`: of any clock that is never set. */
  next(key: string, running: number, timeMs: number): number {
    const before = this.#samples.get(key);
    const decay = before === undefined ? 0 : Math.exp((before.timeMs - timeMs) / windowMs);
    const average = (before?.average ?? 0) * decay + running * (1 - decay);
    this.#fresh.set(key, { timeMs, average });
    return Math.floor(average * 1000);
  }

  /** Forgets what was not asked for since this was last called. */
  endRound(): void {
    this.#samples = this.#fresh;
    this.#fresh = new Map();
  }
}
