/**
 * The one place that freezes values and looks whether they are. The types of what is frozen are read only, so that no program
 * finds out at run time; a value that is frozen anyway shows what the compiler was kept from seeing.
 */

/** Freezes plain data with all that is in it. */
export function deepFreeze<V>(value: V): V {
  // What is frozen is so in all its parts.
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) deepFreeze(member);
  return value;
}

/** Whether a part of an object belongs to others too. Types cannot tell: an object is made of its own parts and of such. */
export function isShared(part: object): boolean {
  return Object.isFrozen(part);
}
