/**
 * What an autoscaler remembers of its past: what was recommended, and how the size was changed. It lives in memory alone,
 * as in 1.24: whoever takes over begins anew. Values; nothing here changes them in place. Instants are monotonic ms.
 */
import type { HPAScalingRules } from '#api/autoscaling/v2/types.gen.js';

export interface Recommendation {
  readonly replicas: number;
  readonly atMs: number;
}

export interface ScaleEvent {
  /** How many pods were added or removed; positive. */
  readonly change: number;
  readonly atMs: number;
}

export interface History {
  /** Of the autoscaler: another one of the same name has no past. */
  readonly uid: string | undefined;
  readonly recommendations: readonly Recommendation[];
  readonly ups: readonly ScaleEvent[];
  readonly downs: readonly ScaleEvent[];
  /** A change whose answer was lost: the next look at the size tells whether it was made. */
  readonly unsure?: { readonly from: number; readonly to: number; readonly atMs: number };
}

export function newHistory(uid: string | undefined): History {
  return { uid, recommendations: [], ups: [], downs: [] };
}

/**
 * With one recommendation more, and without those that no window reaches any more. Of equal ones in a row the last says
 * all, which keeps the memory of a calm target short.
 */
export function recommended(history: History, replicas: number, atMs: number, longestWindowMs: number): History {
  const kept = history.recommendations.filter((each) => each.atMs >= atMs - longestWindowMs);
  if (kept.at(-1)?.replicas === replicas) kept.pop();
  return { ...history, recommendations: [...kept, { replicas, atMs }] };
}

/** With the size changed `from` … `to`, and without changes that no policy of that direction looks back to. */
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

/** How many pods were added, or removed, in the last `periodSeconds`. */
export function changedWithin(events: readonly ScaleEvent[], periodSeconds: number, nowMs: number): number {
  let sum = 0;
  for (const { change, atMs } of events) if (atMs > nowMs - periodSeconds * 1000) sum += change;
  return sum;
}
