/** When long work over the parts of a value comes to the end of a step. */

/** A part takes about a microsecond. */
const partsPerStep = 8000;

/** Counts parts; says when it is time for a pause. */
export class StepBudget {
  readonly #parts: number;
  #left: number;

  constructor(parts = partsPerStep) {
    this.#parts = parts;
    this.#left = parts;
  }

  /** True: it is time for a pause. */
  spend(parts: number): boolean {
    this.#left -= parts;
    if (this.#left > 0) return false;
    this.#left = this.#parts;
    return true;
  }
}
