/** Quantities of resources as they are kept. */
import { roundUpToMilli } from '#apimachinery/quantity.js';

/** Resources are kept to a thousandth at the finest. A list that is so already may be shared and is not written to. */
export function roundResources(list: Record<string, string> | undefined): void {
  if (list === undefined) return;
  for (const name of Object.keys(list)) {
    const quantity = list[name] ?? '';
    const rounded = roundUpToMilli(quantity);
    if (rounded !== quantity) list[name] = rounded;
  }
}
