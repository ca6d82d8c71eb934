/** The order of merged lists: elements that the patch names in the patch's order, all others in their own. */
import { isObject, jsonEqual } from '#apimachinery/patch/json-values.js';

/** What tells two elements of a list apart: the value of the merge key, or a scalar itself. */
export function identity(element: unknown, mergeKey: string | undefined): unknown {
  return mergeKey !== undefined && isObject(element) ? element[mergeKey] : element;
}

function indexIn(list: readonly unknown[], element: unknown, mergeKey: string | undefined): number {
  const wanted = identity(element, mergeKey);
  return list.findIndex((other) => jsonEqual(identity(other, mergeKey), wanted));
}

/** Merges both lists so that pairs which `order` knows keep that order; otherwise `named` come first. */
function interleave(
  others: readonly unknown[],
  named: readonly unknown[],
  order: readonly unknown[],
  mergeKey: string | undefined,
): unknown[] {
  const result: unknown[] = [];
  let i = 0;
  let j = 0;
  while (i < others.length && j < named.length) {
    const left = indexIn(order, others[i], mergeKey);
    const right = indexIn(order, named[j], mergeKey);
    result.push(left >= 0 && right >= 0 && left < right ? others[i++] : named[j++]);
  }
  return [...result, ...others.slice(i), ...named.slice(j)];
}

/**
 * `merged` in order: elements named in `patchOrder` in that order among each other, the rest in `serverOrder`'s, and
 * both interleaved by `serverOrder` as far as it knows them.
 */
export function inOrder(
  merged: readonly unknown[],
  patchOrder: readonly unknown[],
  serverOrder: readonly unknown[],
  mergeKey: string | undefined,
): unknown[] {
  const named: { element: unknown; at: number }[] = [];
  const others: { element: unknown; at: number }[] = [];
  for (const element of merged) {
    const at = indexIn(patchOrder, element, mergeKey);
    if (at >= 0) named.push({ element, at });
    else others.push({ element, at: indexIn(serverOrder, element, mergeKey) });
  }
  const sorted = (list: { element: unknown; at: number }[]) =>
    list.sort((a, b) => a.at - b.at).map(({ element }) => element);
  return interleave(sorted(others), sorted(named), serverOrder, mergeKey);
}
