/** Arithmetic on resource lists (amounts by name) for quotas. Pure. */
import type { ResourceList } from '#api/core/v1/pod/resources.js';
import type { ScopedResourceSelectorRequirement } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  QuantitySum,
  quantitySign,
  subtractQuantities,
} from '#apimachinery/quantity.js';
import type { QuotaEvaluator } from '#quota/evaluator.js';

export function onlyNamed(list: ResourceList, isIncluded: (name: string) => boolean): ResourceList {
  return Object.fromEntries(Object.entries(list).filter(([name]) => isIncluded(name)));
}

/** `a + b`; a missing name counts as zero. */
export function addLists(a: ResourceList, b: ResourceList): ResourceList {
  const sum = { ...a };
  for (const [name, amount] of Object.entries(b)) {
    const before = sum[name];
    sum[name] = before === undefined ? amount : addQuantities(before, amount);
  }
  return sum;
}

/** `now - before`, positive amounts only. */
export function increaseOf(now: ResourceList, before: ResourceList): ResourceList {
  const increase: ResourceList = {};
  for (const [name, amount] of Object.entries(now)) {
    const more = subtractQuantities(amount, before[name] ?? '0');
    if (quantitySign(more) > 0) increase[name] = more;
  }
  return increase;
}

/** Names whose amount exceeds the limit; names without a limit never do. */
export function namesAbove(list: ResourceList, limits: ResourceList): string[] {
  return Object.entries(list).flatMap(([name, amount]) => {
    const limit = limits[name];
    return limit !== undefined && compareQuantities(amount, limit) > 0 ? [name] : [];
  });
}

/** Compares values, so `1` equals `1000m`. */
export function sameAmounts(a: ResourceList, b: ResourceList): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => b[name] !== undefined && compareQuantities(a[name] ?? '0', b[name]) === 0)
  );
}

/** Formats amounts for messages: `cpu=500m,pods=1`. */
export function printAmounts(list: ResourceList): string {
  const names = Object.keys(list).sort();
  return names.map((name) => `${name}=${canonicalQuantity(list[name] ?? '0')}`).join(',');
}

export interface Counting {
  /** Names in `spec.hard` that the evaluator counts. */
  readonly names: readonly string[];
  /** Only objects within all of these scopes count. */
  readonly scopes: readonly ScopedResourceSelectorRequirement[];
  readonly nowMs: number;
}

/** Total usage of the objects, by name. */
export function usageOfAll(
  evaluator: QuotaEvaluator,
  objects: Iterable<ApiObjectShape>,
  { names, scopes, nowMs }: Counting,
): ResourceList {
  const sums = names.map((name) => ({ name, sum: new QuantitySum() }));
  for (const object of objects) {
    if (!scopes.every((scope) => evaluator.isWithin(object, scope))) continue;
    const usage = evaluator.usage(object, nowMs);
    for (const { name, sum } of sums) {
      const amount = usage[name];
      if (amount !== undefined) sum.add(amount);
    }
  }
  return Object.fromEntries(sums.map(({ name, sum }) => [name, sum.total()]));
}
