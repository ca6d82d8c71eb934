/** `Array.isArray` for readonly types: its own type guard does not narrow a readonly array. */
export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
