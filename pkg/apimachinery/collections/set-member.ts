/** Sets an own member of any name: a plain assignment to `__proto__` would change the prototype. */
export function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
}
