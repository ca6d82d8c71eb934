/** Decides when a workload rolls out because of what its pods use. Pure. */

/** Changes within this time of the last one are rolled out together. */
export const quietMs = 5000;

export interface RollState {
  /** The hash that the workload runs with; undefined: it was not followed before. */
  readonly recorded: string | undefined;
  /** Undefined while a required object is missing. */
  readonly actual: string | undefined;
  /** A change that waits for quiet. */
  readonly pending: { readonly hash: string; readonly sinceMs: number } | undefined;
  readonly nowMs: number;
}

export type RollPlan =
  | { readonly action: 'nothing' }
  /** Remember the hash without a rollout: the pods use this content already. */
  | { readonly action: 'record'; readonly hash: string }
  | { readonly action: 'wait'; readonly hash: string; readonly sinceMs: number; readonly ms: number }
  | { readonly action: 'roll'; readonly hash: string };

export function planRoll({ recorded, actual, pending, nowMs }: RollState): RollPlan {
  if (actual === undefined || actual === recorded) return { action: 'nothing' };
  if (recorded === undefined) return { action: 'record', hash: actual };
  const sinceMs = pending?.hash === actual ? pending.sinceMs : nowMs;
  const ms = sinceMs + quietMs - nowMs;
  return ms > 0 ? { action: 'wait', hash: actual, sinceMs, ms } : { action: 'roll', hash: actual };
}
