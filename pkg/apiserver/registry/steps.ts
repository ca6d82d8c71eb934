/** A write of something large does each of its steps in a turn of its own, so that nobody waits for all of them. */
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { Entry } from '#storage/resource-storage.js';

/** Steps of what is smaller take a millisecond or two. */
const largeBytes = 32 * 1024;

/** What is done in steps, for whom. */
export interface SteppedWork {
  readonly registry: { readonly turns: TurnQueue };
  readonly context: RequestContext;
}

/** To be called between steps. Returns a promise to wait for where the body, or what is stored, is large. */
export function betweenSteps(
  { registry, context }: SteppedWork,
  stored?: Pick<Entry, 'size'>,
): Promise<void> | undefined {
  return isLarge(context, stored) ? registry.turns.next() : undefined;
}

/** Whether the body, or what is stored, is worth to be worked on in several turns. */
export function isLarge({ request }: RequestContext, stored?: Pick<Entry, 'size'>): boolean {
  return Math.max(request.body.length, stored?.size ?? 0) >= largeBytes;
}
