/** How one pass over an item ended. A reconcile that returns nothing is done; one that throws is retried. */
export type Outcome =
  | { readonly kind: 'done' }
  /** Worked, and wants to look again after `ms`. */
  | { readonly kind: 'requeueAfter'; readonly ms: number }
  /** Did nothing, for what it needs is not there yet: looks again after `ms`. Says nothing of success or failure. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** Failed; tried again with back-off. */
  | { readonly kind: 'retry'; readonly error: unknown }
  /** Failed for good: waits for the object to change. */
  | { readonly kind: 'terminal'; readonly error: unknown };

export const done: Outcome = Object.freeze({ kind: 'done' });

/** Worked; look again after `ms`. */
export function requeueAfter(ms: number): Outcome {
  return { kind: 'requeueAfter', ms };
}

/** Failed; try again with back-off. */
export function retry(error: unknown): Outcome {
  return { kind: 'retry', error };
}

/** Failed; trying again would not help until something changes. */
export function terminal(error: unknown): Outcome {
  return { kind: 'terminal', error };
}
