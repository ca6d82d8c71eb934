/** How many tasks ran lately, smoothed over ten seconds as cAdvisor does, out of samples whenever somebody asks. */

interface Sample {
  readonly timeMs: number;
  readonly average: number;
}

const windowMs = 10_000;
/** A sample this old counts for nothing. */
const keptMs = 60 * windowMs;

/** Instants are those of a clock that is never set, in ms. */
export class LoadAverages {
  readonly #samples = new Map<string, Sample>();

  /** Tasks that run, times a thousand, rounded down. */
  next(key: string, running: number, timeMs: number): number {
    const before = this.#samples.get(key);
    const decay = before === undefined ? 0 : Math.exp((before.timeMs - timeMs) / windowMs);
    const average = (before?.average ?? 0) * decay + running * (1 - decay);
    this.#samples.set(key, { timeMs, average });
    return Math.floor(average * 1000);
  }

  /** What was not asked for in a long time. */
  forget(nowMs: number): void {
    for (const [key, { timeMs }] of this.#samples) if (nowMs - timeMs > keptMs) this.#samples.delete(key);
  }
}
