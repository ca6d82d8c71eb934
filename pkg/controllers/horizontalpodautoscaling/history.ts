/**
 * An autoscaler's past recommendations and scaling events. As in 1.24 they are in memory only, so a new leader starts
 * without history. Immutable values; instants are monotonic ms.
 */
import type { HPAScalingRules } from '#api/autoscaling/v2/types.gen.js';

export interface Recommendation {
  readonly replicas: number;
  readonly atMs: number;
}

export interface ScaleEvent {
  /** The number of added or removed pods; positive. */
  readonly change: number;
  readonly atMs: number;
}

export interface History {
  /** The autoscaler's UID; a new autoscaler with the same name has a new history. */
  readonly uid: string | undefined;
  readonly recommendations: readonly Recommendation[];
  readonly ups: readonly ScaleEvent[];
  readonly downs: readonly ScaleEvent[];
  /** A resize whose response was lost: the next read of the size shows whether it happened. */
  readonly unconfirmed?: { readonly from: number; readonly to: number; readonly atMs: number };
}

export function newHistory(uid: string | undefined): History {
  return { uid, recommendations: [], ups: [], downs: [] };
}

/**
 * Adds a recommendation and drops those before the longest window. Consecutive equal recommendations are replaced by the
 * last, which keeps the history of a stable target short.
 */
export function recommended(history: History, replicas: number, atMs: number, longestWindowMs: number): History {
  const recent = history.recommendations.filter((each) => each.atMs >= atMs - longestWindowMs);
  if (recent.at(-1)?.replicas === replicas) recent.pop();
  return { ...history, recommendations: [...recent, { replicas, atMs }] };
}

/** Adds the resize, and drops events before the longest policy period of its direction. */
export function scaled(
  history: History,
  change: { readonly from: number; readonly to: number; readonly atMs: number },
  rules: { readonly up: HPAScalingRules | undefined; readonly down: HPAScalingRules | undefined },
): History {
  const { from, to, atMs } = change;
  const add = (events: readonly ScaleEvent[], { policies = [] }: HPAScalingRules = {}) => {
    const longestMs = Math.max(0, ...policies.map(({ periodSeconds }) => periodSeconds * 1000));
    return [...events.filter((each) => each.atMs >= atMs - longestMs), { change: Math.abs(to - from), atMs }];
  };
  if (to > from) return { ...history, ups: add(history.ups, rules.up) };
  return to < from ? { ...history, downs: add(history.downs, rules.down) } : history;
}

/** The number of pods added or removed in the last `periodSeconds`. */
export function changedWithin(events: readonly ScaleEvent[], periodSeconds: number, nowMs: number): number {
  let sum = 0;
  for (const { change, atMs } of events) if (atMs > nowMs - periodSeconds * 1000) sum += change;
  return sum;
}
