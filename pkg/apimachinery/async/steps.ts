/** Long work in steps that each take some milliseconds, so that others may run in between. */

/** What may be at hand: then it comes without a promise, which costs more than the answer where every request asks for it. */
export type MaybePromise<T> = T | Promise<T>;

/** What `next` makes of the value: at once where that is at hand. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

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

/** Each value that it yields is a place for a pause. */
export type Steps<T> = Generator<undefined, T>;

/** Undefined: the next step may follow at once. */
export type Pause = () => Promise<void> | undefined;

/** Runs steps to their end without a pause. */
export function allSteps<T>(steps: Steps<T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** Runs steps to their end, with a pause between them: at once, as long as nothing has to be waited for. */
export function inSteps<T>(steps: Steps<T>, pause: Pause): MaybePromise<T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    const pausing = pause();
    if (pausing !== undefined) return restOf(steps, pause, pausing);
  }
}

async function restOf<T>(steps: Steps<T>, pause: Pause, first: Promise<void>): Promise<T> {
  await first;
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await pause();
  }
}
