/** Writes for one object that are under way at once: more would only wait in the API server, or be refused there. */
export const writesAtOnce = 50;

/**
 * `Promise.all` of which no more than `limit` are under way at once: an object has as many owners and dependents as
 * somebody gave it. Nothing more is begun after a failure.
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

/** Tries all, no more than `limit` at once; the failures, in the order of their items. */
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
