/** The order of merged lists: elements that the patch names in the patch's order, all others in their own. */
import { isJsonObject } from '#apimachinery/codec/json/walk.js';
import { Identities } from '#apimachinery/patch/identities.js';

/** What tells two elements of a list apart: the value of the merge key, or a scalar itself. */
export function identity(element: unknown, mergeKey: string | undefined): unknown {
  return mergeKey !== undefined && isJsonObject(element) ? element[mergeKey] : element;
}

interface Placed {
  readonly element: unknown;
  /** Its place in the order that it follows, -1 where that does not know it. */
  readonly at: number;
  /** Its place in the server's order. */
  readonly atServer: number;
}

/** Merges both lists so that pairs which the server's order knows keep that order; otherwise `named` come first. */
function interleave(others: readonly Placed[], named: readonly Placed[]): Placed[] {
  const result: Placed[] = [];
  let i = 0;
  let j = 0;
  for (;;) {
    const [left, right] = [others[i], named[j]];
    if (left === undefined || right === undefined) return [...result, ...others.slice(i), ...named.slice(j)];
    const leftFirst = left.atServer >= 0 && right.atServer >= 0 && left.atServer < right.atServer;
    result.push(leftFirst ? left : right);
    if (leftFirst) i++;
    else j++;
  }
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
  const identities = new Identities();
  const places = (list: readonly unknown[]) =>
    identities.firstIndexes(list.map((element) => identity(element, mergeKey)));
  const inPatch = places(patchOrder);
  const inServer = places(serverOrder);
  const named: Placed[] = [];
  const others: Placed[] = [];
  for (const element of merged) {
    const key = identities.keyOf(identity(element, mergeKey));
    const at = inPatch.get(key);
    const atServer = inServer.get(key) ?? -1;
    if (at === undefined) others.push({ element, at: atServer, atServer });
    else named.push({ element, at, atServer });
  }
  const byPlace = (a: Placed, b: Placed) => a.at - b.at;
  return interleave(others.sort(byPlace), named.sort(byPlace)).map(({ element }) => element);
}
