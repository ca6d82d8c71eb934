/** A write of something large does each of its steps in a turn of its own, so that nobody waits for all of them. */
import type { ApiObjectShape, OwnMetadata } from '#api/meta/object.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import { andThen, inSteps, type MaybePromise, type Pause } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { type FieldFailure, invalid, type StatusError } from '#apimachinery/errors/status.js';
import { none } from '#apimachinery/validation/failure.js';
import { type RequestContext, warn } from '#apiserver/http/context.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';

/** An object before it is written. */
interface Candidate {
  readonly object: OwnMetadata;
  /** Undefined: there was none. */
  readonly old: ApiObjectShape | undefined;
  /** For messages. */
  readonly name: string;
  readonly rules: StrategyContext;
  /** For the store, however small its managers are. */
  readonly tooLarge: StatusError | undefined;
}

/**
 * Ends a validation that has found `failures` so far. Throws 422 for an object that is not valid, and 413 for one that is too
 * large; a promise where rules of its kind take a while, between whose steps other requests have their turns.
 */
export function endValidation(
  { registry, context, resource }: SteppedWork & { readonly resource: ServedResource },
  { object, old, name, rules, tooLarge }: Candidate,
  failures: readonly FieldFailure[],
  { warns }: { readonly warns: boolean },
): MaybePromise<void> {
  const { strategy, group, declaration } = resource;
  const more = strategy.rules?.(object, old, failures, rules);
  return andThen(more === undefined ? none : inSteps(more, () => registry.turns.pause()), (others) => {
    const all = [...failures, ...others];
    if (all.length > 0) throw invalid({ group: declaration.refusedIn ?? group, kind: declaration.kind }, name, all);
    for (const text of (warns ? strategy.warnings?.(object, old, rules) : undefined) ?? []) warn(context, text);
    strategy.canonicalize?.(object, rules);
    if (tooLarge !== undefined) throw tooLarge;
  });
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
