import { roundUpToMilli } from '#apimachinery/quantity.js';

/**
 * Rounds quantities up to thousandths, the finest precision of resource lists. A list that needs no rounding may be
 * shared and is not modified.
 */
export function roundResources(list: Record<string, string> | undefined): void {
  if (list === undefined) return;
  for (const name of Object.keys(list)) {
    const quantity = list[name] ?? '';
    const rounded = roundUpToMilli(quantity);
    if (rounded !== quantity) list[name] = rounded;
  }
}
