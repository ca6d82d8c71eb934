/** The order of merged lists: elements of the patch in the patch's order, all others in their own. */
import { isJsonObject } from '#apimachinery/codec/json/walk.js';
import { Identities } from '#apimachinery/patch/identities.js';

/** The identity of a list element: the value of its merge key, or the scalar itself. */
export function identity(element: unknown, mergeKey: string | undefined): unknown {
  return mergeKey !== undefined && isJsonObject(element) ? element[mergeKey] : element;
}

interface Placed {
  readonly element: unknown;
  /** Its index in the order that applies to it; -1 if it is not in that order. */
  readonly at: number;
  /** Its index in the server's order. */
  readonly atServer: number;
}

/** Merges both lists and keeps the server's order for pairs that it contains; otherwise `named` come first. */
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
 * `merged` in order: elements in `patchOrder` follow that order, the rest `serverOrder`, and both are interleaved by
 * `serverOrder` where it contains them.
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
