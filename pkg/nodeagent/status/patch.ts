/** The difference between two statuses, as the smallest strategic merge patch. */
import type { ContainerStatus, PodCondition, PodStatus } from '#api/core/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';

/** Fields that the node agent owns; all others of a status are somebody else's. */
const ownedFields = [
  'phase',
  'message',
  'reason',
  'hostIP',
  'podIP',
  'podIPs',
  'startTime',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
  'qosClass',
] as const satisfies readonly (keyof PodStatus)[];

/** A container's state and last state are always there, if only empty, in what the API server answers. */
function sameField(from: unknown, to: unknown): boolean {
  const complete = (value: unknown): unknown =>
    Array.isArray(value) && value.some(isContainerStatus)
      ? value.map((status: ContainerStatus) => ({ state: {}, lastState: {}, ...status }))
      : value;
  return semanticEqual(complete(from), complete(to));
}

function isContainerStatus(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'restartCount' in value;
}

/** Both together: `own` is what the node agent says; conditions of other types are somebody else's. */
export function mergedStatus(foreign: PodStatus | undefined, own: PodStatus): PodStatus {
  const types = new Set(own.conditions?.map(({ type }) => type));
  const others = foreign?.conditions?.filter(({ type }) => !types.has(type)) ?? [];
  return { ...foreign, ...own, conditions: [...others, ...(own.conditions ?? [])] };
}

function changedConditions(from: readonly PodCondition[], to: readonly PodCondition[]): PodCondition[] {
  return to.filter((condition) => {
    const old = from.find((c) => c.type === condition.type);
    return old === undefined || !semanticEqual({ ...old, lastProbeTime: undefined }, condition);
  });
}

/**
 * What turns `from` into `to`, undefined when nothing differs. Conditions merge by type, so only the changed ones are
 * in it; a condition that lost its reason says so with null.
 */
export function statusPatch(from: PodStatus | undefined, to: PodStatus): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {};
  for (const field of ownedFields) {
    if (sameField(from?.[field], to[field])) continue;
    if (to[field] === undefined && from?.[field] === undefined) continue;
    // Lists of statuses have no merge key and are replaced; addresses merge by `ip` unless told otherwise.
    if (field === 'podIPs' && to.podIPs !== undefined && from?.podIPs !== undefined) {
      patch[field] = [{ $patch: 'replace' }, ...to.podIPs];
    } else patch[field] = to[field] ?? null;
  }
  const conditions = changedConditions(from?.conditions ?? [], to.conditions ?? []);
  if (conditions.length > 0) {
    patch['conditions'] = conditions.map((condition) => {
      const old = from?.conditions?.find((c) => c.type === condition.type);
      const cleared: Record<string, null> = {};
      if (old?.reason !== undefined && condition.reason === undefined) cleared['reason'] = null;
      if (old?.message !== undefined && condition.message === undefined) cleared['message'] = null;
      return { ...condition, ...cleared };
    });
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
