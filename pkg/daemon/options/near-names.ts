/** The names that a mistyped one may stand for. Pure. */
import { editDistance } from '#apimachinery/collections/edit-distance.js';

/** At most two edits away, or with the written text as their beginning: the rule of kubectl. */
export function nearNames(written: string, names: readonly string[]): string[] {
  const lower = written.toLowerCase();
  return names
    .filter((name) => editDistance(lower, name.toLowerCase(), 3) <= 2 || name.toLowerCase().startsWith(lower))
    .sort();
}
