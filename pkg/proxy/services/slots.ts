/**
 * The places of endpoints in a list from which one is picked by its number. Whoever stays keeps its place, so that a
 * change costs no more than two elements of the kernel's map for each endpoint.
 * @param previous The places before.
 * @param wanted Each once.
 */
export function assignSlots(previous: readonly string[], wanted: readonly string[]): string[] {
  const missing = new Set(wanted);
  const slots: (string | undefined)[] = [];
  for (let place = 0; place < wanted.length; place++) {
    const before = previous[place];
    slots.push(before !== undefined && missing.delete(before) ? before : undefined);
  }
  const rest = missing.values();
  return slots.map((slot) => slot ?? (rest.next().value as string));
}
