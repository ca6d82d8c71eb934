/** A write of something large does each of its steps in a turn of its own, so that nobody waits for all of them. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { andThen, inSteps, type MaybePromise, type Pause } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { Entry } from '#storage/resource-storage.js';

/** Rules that take longer than the rest of an object's validation. */
export interface Validated {
  readonly object: ApiObjectShape;
  /** Undefined: there was none. */
  readonly old: ApiObjectShape | undefined;
  /** By the rest of the validation. */
  readonly found: readonly FieldFailure[];
  readonly asked: StrategyContext;
}

/** All that is wrong with the object. Others have their turns meanwhile. */
export function withRules(
  { turns }: SteppedWork['registry'],
  strategy: Strategy,
  { object, old, found, asked }: Validated,
): MaybePromise<readonly FieldFailure[]> {
  const rules = strategy.rules?.(object, old, found, asked);
  if (rules === undefined) return found;
  const more = inSteps(rules, () => turns.pause());
  return andThen(more, (all) => (all.length === 0 ? found : [...found, ...all]));
}

/** Steps of what is smaller take a millisecond or two. */
const largeBytes = 32 * 1024;

/** What is done in steps, for whom. */
export interface SteppedWork {
  readonly registry: { readonly turns: TurnQueue };
  readonly context: RequestContext;
}

const atOnce: Pause = () => undefined;

/** What comes between the steps of a request: another turn where the body, or what is stored, is large, else nothing. */
export function pauseOf({ registry, context }: SteppedWork, stored?: Pick<Entry, 'size'>): Pause {
  return isLarge(context, stored) ? () => registry.turns.next() : atOnce;
}

/** Whether the body, or what is stored, is worth to be worked on in several turns. */
export function isLarge({ request }: RequestContext, stored?: Pick<Entry, 'size'>): boolean {
  return Math.max(request.body.length, stored?.size ?? 0) >= largeBytes;
}

/** One step of a write; a promise where it takes a while. */
export type Step<T> = (write: T) => MaybePromise<void>;

/** Takes the steps one after the other, with a pause behind each. */
export async function takeSteps<T>(write: T, steps: readonly Step<T>[], pause: Pause): Promise<void> {
  for (const step of steps) {
    const work = step(write);
    if (work !== undefined) await work;
    const pausing = pause();
    if (pausing !== undefined) await pausing;
  }
}
