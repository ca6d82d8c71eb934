/** Lists of amounts by name: how quotas reckon with them. Pure. */
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

/** Only what has one of these names. */
export function onlyNamed(list: ResourceList, isWanted: (name: string) => boolean): ResourceList {
  return Object.fromEntries(Object.entries(list).filter(([name]) => isWanted(name)));
}

/** `a + b`; a name that one of them lacks has the other's amount. */
export function addLists(a: ResourceList, b: ResourceList): ResourceList {
  const sum = { ...a };
  for (const [name, amount] of Object.entries(b)) {
    const before = sum[name];
    sum[name] = before === undefined ? amount : addQuantities(before, amount);
  }
  return sum;
}

/** What `now` has more than `before`: only amounts above zero. */
export function increaseOf(now: ResourceList, before: ResourceList): ResourceList {
  const increase: ResourceList = {};
  for (const [name, amount] of Object.entries(now)) {
    const more = subtractQuantities(amount, before[name] ?? '0');
    if (quantitySign(more) > 0) increase[name] = more;
  }
  return increase;
}

/** Names of which the first list has more than the second, which has all of its names. */
export function namesAbove(list: ResourceList, limits: ResourceList): string[] {
  return Object.entries(list).flatMap(([name, amount]) => {
    const limit = limits[name];
    return limit !== undefined && compareQuantities(amount, limit) > 0 ? [name] : [];
  });
}

/** The same names with the same amounts, however they are written. */
export function sameAmounts(a: ResourceList, b: ResourceList): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => b[name] !== undefined && compareQuantities(a[name] ?? '0', b[name]) === 0)
  );
}

/** `cpu=500m,pods=1`: for messages. */
export function printAmounts(list: ResourceList): string {
  const names = Object.keys(list).sort();
  return names.map((name) => `${name}=${canonicalQuantity(list[name] ?? '0')}`).join(',');
}

export interface Counting {
  /** Of `spec.hard`, those that the evaluator counts. */
  readonly names: readonly string[];
  /** All that an object must be in to count. */
  readonly scopes: readonly ScopedResourceSelectorRequirement[];
  readonly nowMs: number;
}

/** What the objects use together, by each of the names. */
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
