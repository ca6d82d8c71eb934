/** Long work in steps of a few milliseconds each, so that other work can run in between. */

/** A value that may be available synchronously: on hot paths a promise would cost more than the work itself. */
export type MaybePromise<T> = T | Promise<T>;

/** Applies `next` to the value, synchronously if it is available. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** A part takes about a microsecond. */
const partsPerStep = 8000;

/** Counts parts and tells when to pause. */
export class StepBudget {
  readonly #parts: number;
  #left: number;

  constructor(parts = partsPerStep) {
    this.#parts = parts;
    this.#left = parts;
  }

  /** True if it is time for a pause. */
  spend(parts: number): boolean {
    this.#left -= parts;
    if (this.#left > 0) return false;
    this.#left = this.#parts;
    return true;
  }
}

/** Each yield is an opportunity to pause. */
export type Steps<T> = Generator<undefined, T>;

/** Undefined: the next step may follow immediately. */
export type Pause = () => Promise<void> | undefined;

/** Runs all steps without a pause. */
export function allSteps<T>(steps: Steps<T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** Runs all steps with pauses in between; synchronously while no pause returns a promise. */
export function inSteps<T>(steps: Steps<T>, pause: Pause): MaybePromise<T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    const pausing = pause();
    if (pausing !== undefined) return runRemaining(steps, pause, pausing);
  }
}

async function runRemaining<T>(steps: Steps<T>, pause: Pause, first: Promise<void>): Promise<T> {
  await first;
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await pause();
  }
}
