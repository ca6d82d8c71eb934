/** The maximum of concurrent writes for one object; the API server would queue or reject more. */
export const maxConcurrentWrites = 50;

/**
 * Like `Promise.all` over `work(item)`, with at most `limit` concurrent calls, because objects can have any number of
 * owners and dependents. After a failure no further call starts.
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

/** Calls `work` for every item, at most `limit` concurrently. Resolves with the failures in the order of the items. */
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
