/** Bounds the work of validating an object, and tells when to pause. */
import { StepBudget } from '#apimachinery/async/steps.js';

/** Limit of checks per object: a value that no alternative concerns is one, and takes about two microseconds. */
const maxChecks = 1_500_000;
/** Checks between two pauses. */
const checksPerStep = 2000;
/** Comparisons of short texts that take as long as a check. */
const comparisonsPerCheck = 20;
/** Steps of patterns that take as long as a check. */
const patternStepsPerCheck = 50;

/** Thrown if a schema requires more work on an object than its bound. */
export class TooManyChecks extends Error {
  constructor() {
    super('a schema requires too many checks of an object');
  }
}

/** Create one per validated object. */
export class ValidationWork {
  readonly #steps = new StepBudget(checksPerStep);
  #left: number;
  #isPauseDue = false;

  constructor(limit = maxChecks) {
    this.#left = limit;
  }

  /** Throws TooManyChecks. */
  spend(checks: number): void {
    this.#left -= checks;
    if (this.#left < 0) throw new TooManyChecks();
    if (this.#steps.spend(checks)) this.#isPauseDue = true;
  }

  /** For comparisons with enumerated values, names and keys. */
  compare(comparisons: number): void {
    if (comparisons > 0) this.spend(comparisons / comparisonsPerCheck);
  }

  /** For the steps of patterns, which have their own limit: they only count for pauses. */
  match(steps: number): void {
    if (this.#steps.spend(steps / patternStepsPerCheck)) this.#isPauseDue = true;
  }

  /** True if it is time for a pause. */
  pauses(): boolean {
    const isDue = this.#isPauseDue;
    this.#isPauseDue = false;
    return isDue;
  }
}
