/** Lists of conditions: at most one per type, and a transition time that moves only when the status does. */

/** What the conditions of all kinds have in common. */
export interface ConditionShape {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

/** The condition of that type, undefined when there is none. */
export function getCondition<C extends ConditionShape>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** True when there is a condition of that type and its status is `True`. */
export function isConditionTrue(conditions: readonly ConditionShape[] | undefined, type: string): boolean {
  return getCondition(conditions, type)?.status === 'True';
}

/**
 * The list with `next` in it, in the place of its predecessor or at the end. `now` (RFC 3339) becomes the transition
 * time unless the status stays the same, which keeps the old one. Gives back the very same list when nothing that
 * anybody could see changes, so that callers can tell by identity whether there is something to write.
 */
export function setCondition<C extends ConditionShape>(
  conditions: readonly C[] | undefined,
  next: C,
  now: string,
): readonly C[] {
  const list = conditions ?? [];
  const old = getCondition(list, next.type);
  const same = old !== undefined && old.status === next.status;
  const lastTransitionTime = same && old.lastTransitionTime !== undefined ? old.lastTransitionTime : now;
  const merged: C = { ...next, lastTransitionTime };
  if (old === undefined) return [...list, merged];
  if (sameFields(old, merged)) return list;
  return list.map((condition) => (condition === old ? merged : condition));
}

/** Conditions are flat, so comparing their fields compares them; an empty text and an absent one are the same. */
function sameFields(a: object, b: object): boolean {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  const value = (object: object, key: string): unknown => Reflect.get(object, key) ?? '';
  return [...keys].every((key) => value(a, key) === value(b, key));
}
