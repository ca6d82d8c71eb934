/** A write of something large does each of its steps in a turn of its own, so that nobody waits for all of them. */
import type { RequestContext } from '#apiserver/http/context.js';
import { nextTurn } from '#storage/cache/turns.js';
import type { Entry } from '#storage/resource-storage.js';

/** Steps of what is smaller take a millisecond or two. */
const largeBytes = 32 * 1024;

/** Undefined: the next step may follow at once. */
export type Pause = () => Promise<void> | undefined;

/** To be called between steps. Returns a promise to wait for where the body, or what is stored, is large. */
export function betweenSteps(context: RequestContext, stored?: Pick<Entry, 'size'>): Promise<void> | undefined {
  return isLarge(context, stored) ? nextTurn() : undefined;
}

/** Whether the body, or what is stored, is worth to be worked on in several turns. */
export function isLarge({ request }: RequestContext, stored?: Pick<Entry, 'size'>): boolean {
  return Math.max(request.body.length, stored?.size ?? 0) >= largeBytes;
}

/** Runs steps to their end, with a pause between them. */
export async function inSteps<T>(steps: Generator<undefined, T>, pause: Pause): Promise<T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    const pausing = pause();
    if (pausing !== undefined) await pausing;
  }
}
