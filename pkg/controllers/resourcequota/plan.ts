/** What the status of a quota should be. Pure. Rules as of release 1.24 (pkg/controller/resourcequota). */
import type { ResourceList } from '#api/core/v1/pod/resources.js';
import type { ResourceQuota, ResourceQuotaStatus } from '#api/core/v1/types.gen.js';
import { compareQuantities } from '#apimachinery/quantity.js';
import { onlyNamed, sameAmounts } from '#quota/amounts.js';

export interface QuotaPlan {
  /** To be written; absent: it is right as it is. */
  readonly status?: ResourceQuotaStatus;
  /** Something is counted that was not before. */
  readonly begins: boolean;
}

/** `usage`: what is in use of all that could be counted. Of the rest the last known usage stays. */
export function planQuota({ spec, status }: ResourceQuota, usage: ResourceList): QuotaPlan {
  const hard = spec.hard ?? {};
  const before = status?.used ?? {};
  const used = onlyNamed({ ...before, ...usage }, (name) => hard[name] !== undefined);
  const right =
    status?.hard !== undefined &&
    status.used !== undefined &&
    sameAmounts(hard, status.hard) &&
    sameAmounts(used, status.used);
  const begins = Object.keys(used).some((name) => before[name] === undefined);
  return right ? { begins: false } : { status: { hard, used }, begins };
}

/**
 * Whether the counted amounts say that there is more left of the quota than its status does. Only this must be known for
 * sure: what is counted too high is put right by whatever makes it less.
 */
export function leavesMore({ status }: ResourceQuota, counted: ResourceList): boolean {
  return Object.entries(counted).some(([name, amount]) => {
    const before = status?.used?.[name];
    return before === undefined || compareQuantities(amount, before) < 0;
  });
}
