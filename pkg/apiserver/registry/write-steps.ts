/** Steps of a write. Each step on a large object gets its own turn, so that other requests run between the steps. */
import type { ApiObjectShape, OwnMetadata } from '#api/meta/object.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import { andThen, inSteps, type MaybePromise, type Pause, type Steps } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Draft } from '#apimachinery/draft.js';
import { type FieldFailure, invalid, type StatusError } from '#apimachinery/errors/status.js';
import { type RequestContext, warn } from '#apiserver/http/request-context.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';

/** An object before it is written. */
interface Candidate {
  readonly object: OwnMetadata;
  /** Undefined for a new object. */
  readonly old: ApiObjectShape | undefined;
  /** Absent: the whole object is written. */
  readonly part?: 'status' | undefined;
  /** Name used in messages. */
  readonly name: string;
  readonly rules: StrategyContext;
  /** Set if the object is too large for the store even without managedFields. */
  readonly tooLarge: StatusError | undefined;
}

/**
 * Completes a validation that found `failures`. Throws 422 for an invalid object and 413 for one that is too large. Returns a
 * promise if the kind's rules run long; other requests then run between their steps.
 */
export function endValidation(
  { registry, context, resource }: SteppedWork & { readonly resource: ServedResource },
  { object, old, part, name, rules, tooLarge }: Candidate,
  failures: readonly FieldFailure[],
  { warns }: { readonly warns: boolean },
): MaybePromise<void> {
  const { strategy, group, declaration } = resource;
  const more = strategy.contentFailures?.(object, old, rules, { part, failures });
  // The rules before have used up the turn if the object is large.
  const begin = more !== undefined && isLarge(context) ? registry.turns.next() : undefined;
  const validated = andThen(begin, () =>
    more === undefined ? failures : inSteps(joined(failures, more), () => registry.turns.pause()),
  );
  const ruled = andThen(validated, (earlier) => {
    const steps = strategy.rules?.(object, old, earlier, rules);
    return steps === undefined ? earlier : inSteps(joined(earlier, steps), () => registry.turns.pause());
  });
  return andThen(ruled, (all) => {
    if (all.length > 0) throw invalid({ group: declaration.refusedIn ?? group, kind: declaration.kind }, name, all);
    for (const text of (warns ? strategy.warnings?.(object, old, rules) : undefined) ?? []) warn(context, text);
    strategy.canonicalize?.(object, rules);
    if (tooLarge !== undefined) throw tooLarge;
  });
}

function* joined(
  before: readonly FieldFailure[],
  steps: Steps<readonly FieldFailure[]>,
): Steps<readonly FieldFailure[]> {
  return [...before, ...(yield* steps)];
}

/** All steps of a smaller object take a millisecond or two. */
const largeBytes = 32 * 1024;

/** The server and the request of work done in steps. */
export interface SteppedWork {
  readonly registry: { readonly turns: TurnQueue };
  readonly context: RequestContext;
  /** Absent while the body is read. */
  readonly resource?: Pick<ServedResource, 'edition'>;
}

const atOnce: Pause = () => undefined;

/**
 * Called between the steps of a request: waits for another turn if the body or the stored object is large. Custom objects may
 * grow by defaults and conversion, so time decides.
 */
export function pauseOf({ registry, context, resource }: SteppedWork, stored?: Pick<Entry, 'size'>): Pause {
  if (isLarge(context, stored)) return () => registry.turns.next();
  return resource?.edition === undefined ? atOnce : () => registry.turns.pause();
}

/** Sets the kind's defaults in place, as far as they take long in turns. Throws what the strategy throws. */
export function setKindDefaults(
  { registry, resource }: SteppedWork & { readonly resource: ServedResource },
  object: Draft<ApiObjectShape>,
  rules: StrategyContext,
  origin?: 'applied',
): MaybePromise<void> {
  const { strategy } = resource;
  if (strategy.defaultSteps === undefined) return strategy.defaults?.(object, rules, origin);
  return inSteps(strategy.defaultSteps(object, rules, origin), () => registry.turns.pause());
}

/** True if the body or the stored object is large enough to be processed in several turns. */
export function isLarge({ request }: RequestContext, stored?: Pick<Entry, 'size'>): boolean {
  return Math.max(request.body.length, stored?.size ?? 0) >= largeBytes;
}

/** One step of a write; returns a promise if it takes long. */
export type Step<T> = (write: T) => MaybePromise<void>;

/** Runs the steps in order, with a pause after each. */
export async function takeSteps<T>(write: T, steps: readonly Step<T>[], pause: Pause): Promise<void> {
  for (const step of steps) {
    const work = step(write);
    if (work !== undefined) await work;
    const pausing = pause();
    if (pausing !== undefined) await pausing;
  }
}
