/** Lists of conditions: at most one per type, with a transition time that changes only with the status. */

/** The common fields of conditions. */
export interface ConditionShape {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

/** The condition of that type; undefined if absent. */
export function getCondition<C extends ConditionShape>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** True if the condition of that type has the status `True`. */
export function isConditionTrue(conditions: readonly ConditionShape[] | undefined, type: string): boolean {
  return getCondition(conditions, type)?.status === 'True';
}

/**
 * The list with `next` in place of its predecessor or at the end. `now` (RFC 3339) becomes the transition time if the
 * status changes. Returns the same list if nothing visible changes.
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

/** Conditions are flat; an empty text equals an absent one. */
function sameFields(a: object, b: object): boolean {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  const value = (object: object, key: string): unknown => Reflect.get(object, key) ?? '';
  return [...keys].every((key) => value(a, key) === value(b, key));
}
