/** Long work in steps that each take some milliseconds, so that others may run in between. */

/** Each value that it yields is a place for a pause. */
export type Steps<T> = Generator<undefined, T>;

/** Undefined: the next step may follow at once. */
export type Pause = () => Promise<void> | undefined;

/** Runs steps to their end without a pause. */
export function allSteps<T>(steps: Steps<T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** Runs steps to their end, with a pause between them. */
export async function inSteps<T>(steps: Steps<T>, pause: Pause): Promise<T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    const pausing = pause();
    if (pausing !== undefined) await pausing;
  }
}
