/** Measurements of a few things over time, as long as the page is open, bounded. */
export interface Series {
  /** Seconds since the epoch. */
  readonly times: number[];
  /** One list for each value of a measurement. */
  readonly values: number[][];
}

const maxPoints = 960;
const maxSeries = 40;

export class UsageHistory {
  readonly #series = new Map<string, Series>();

  /** A time that has been added before is not added again. */
  add(key: string, seconds: number, values: readonly number[]): Series {
    const held = this.#series.get(key) ?? { times: [], values: values.map(() => []) };
    // The newest is the last to be dropped.
    this.#series.delete(key);
    this.#series.set(key, held);
    const oldest = this.#series.keys().next().value;
    if (this.#series.size > maxSeries && oldest !== undefined) this.#series.delete(oldest);
    if (seconds > (held.times.at(-1) ?? 0)) {
      held.times.push(seconds);
      values.forEach((value, i) => {
        held.values[i]?.push(value);
      });
      if (held.times.length > maxPoints) for (const list of [held.times, ...held.values]) list.shift();
    }
    return held;
  }

  get(key: string): Series | undefined {
    return this.#series.get(key);
  }
}
