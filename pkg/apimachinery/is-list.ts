/** `Array.isArray` for what is read only: its own answer is that whatever is no list may still be a list that cannot be written. */
export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
