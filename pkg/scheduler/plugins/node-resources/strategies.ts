/** Scores nodes by their remaining resources, in integers as release 1.24. */
import { maxNodeScore } from '#scheduler/framework/plugin.js';
import type { Amount } from '#scheduler/plugins/node-resources/amounts.js';

/** Prefers much free capacity. */
export function leastAllocated(amounts: readonly Amount[]): number {
  return mean(amounts, ({ capacity, used }) => (used > capacity ? 0 : percent(capacity - used, capacity)));
}

/** Prefers little free capacity. */
export function mostAllocated(amounts: readonly Amount[]): number {
  return mean(amounts, ({ capacity, used }) => percent(Math.min(used, capacity), capacity));
}

/** Scores the utilization by the configured shape. */
export function requestedToCapacityRatio(
  shape: readonly { readonly utilization: number; readonly score: number }[],
): (amounts: readonly Amount[]) => number {
  const points = shape.map(({ utilization, score }) => ({ utilization, score: score * 10 }));
  return (amounts) => {
    let sum = 0;
    let weights = 0;
    for (const { capacity, used, weight } of amounts) {
      const score = interpolate(points, used > capacity ? 100 : percent(used, capacity));
      if (score <= 0) continue;
      sum += score * weight;
      weights += weight;
    }
    return weights === 0 ? 0 : Math.round(sum / weights);
  };
}

/** Prefers equal utilization of all resources. */
export function balanced(amounts: readonly Amount[]): number {
  const shares = amounts.map(({ capacity, used }) => Math.min(1, used / capacity));
  const average = shares.reduce((sum, share) => sum + share, 0) / Math.max(1, shares.length);
  const [a = 0, b = 0] = shares;
  const deviation =
    shares.length === 2
      ? Math.abs((a - b) / 2)
      : Math.sqrt(shares.reduce((sum, share) => sum + (share - average) ** 2, 0) / Math.max(1, shares.length));
  return Math.trunc((1 - deviation) * maxNodeScore);
}

const percent = (part: number, whole: number): number => Math.trunc((part * maxNodeScore) / whole);

function mean(amounts: readonly Amount[], score: (amount: Amount) => number): number {
  let sum = 0;
  let weights = 0;
  for (const amount of amounts) {
    sum += score(amount) * amount.weight;
    weights += amount.weight;
  }
  return weights === 0 ? 0 : Math.trunc(sum / weights);
}

/** Interpolates linearly between the points; constant before the first and after the last. */
function interpolate(points: readonly { readonly utilization: number; readonly score: number }[], x: number): number {
  for (const [i, { score, utilization }] of points.entries()) {
    if (x > utilization) continue;
    const before = points[i - 1];
    if (before === undefined) return score;
    const rise = ((score - before.score) * (x - before.utilization)) / (utilization - before.utilization);
    return before.score + Math.trunc(rise);
  }
  return points.at(-1)?.score ?? 0;
}
