/** Concurrent writes on behalf of one object: more would only queue in the API server, or be rejected by it. */
export const writesAtOnce = 50;

/**
 * Like `Promise.all` of `work` over the items, with at most `limit` calls at once: nothing limits how many owners and
 * dependents an object has. After a failure no further call is started.
 */
export async function allWithin<T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  const waiting = items.entries();
  let failed = false;
  const worker = async () => {
    for (const [i, item] of waiting) {
      if (failed) return;
      try {
        results[i] = await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}

/** Calls `work` for every item, at most `limit` at once; resolves with the failures, in the order of the items. */
export async function failuresWithin<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<unknown[]> {
  const failures = await allWithin(items, limit, (item) =>
    work(item).then(
      () => undefined,
      (error: unknown) => ({ error }),
    ),
  );
  return failures.flatMap((failure) => (failure === undefined ? [] : [failure.error]));
}
