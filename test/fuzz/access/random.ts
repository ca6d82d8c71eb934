/** Seeded random choices. */
export class Dice {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  /** Throws a RangeError for an empty list. */
  one<T>(values: readonly T[]): T {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new RangeError('nothing to choose from');
    return value;
  }

  some<T>(values: readonly T[], most = 3): T[] {
    return Array.from({ length: 1 + this.below(most) }, () => this.one(values));
  }
}
