/**
 * The only place that freezes values or asks whether they are frozen. Frozen values have readonly types, so the
 * compiler finds writes; freezing catches those that it cannot see.
 */

/** Freezes plain data recursively. */
export function deepFreeze<V>(value: V): V {
  // A frozen value has only frozen parts.
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) deepFreeze(member);
  return value;
}

/** Whether a part of an object is shared with other objects; one object may mix own and shared parts. */
export function isShared(part: object): boolean {
  return Object.isFrozen(part);
}
