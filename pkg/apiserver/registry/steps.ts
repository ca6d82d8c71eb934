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
  const bytes = Math.max(context.request.body.length, stored?.size ?? 0);
  return bytes < largeBytes ? undefined : nextTurn();
}
