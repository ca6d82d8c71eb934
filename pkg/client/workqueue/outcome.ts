/** Result of one pass over an item. A reconcile that returns nothing is done; one that throws is retried. */
export type Outcome =
  | { readonly kind: 'done' }
  /** Succeeded; runs again after `ms`. */
  | { readonly kind: 'requeueAfter'; readonly ms: number }
  /** Skipped because a precondition is missing: runs again after `ms`. Counts as neither success nor failure. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** Failed; retried with back-off. */
  | { readonly kind: 'retry'; readonly error: unknown }
  /** Failed permanently: not retried until the object changes. */
  | { readonly kind: 'terminal'; readonly error: unknown };

export const done: Outcome = Object.freeze({ kind: 'done' });

/** Succeeded; run again after `ms`. */
export function requeueAfter(ms: number): Outcome {
  return { kind: 'requeueAfter', ms };
}

/** Failed; retry with back-off. */
export function retry(error: unknown): Outcome {
  return { kind: 'retry', error };
}

/** Failed; retrying would not help until something changes. */
export function terminal(error: unknown): Outcome {
  return { kind: 'terminal', error };
}
