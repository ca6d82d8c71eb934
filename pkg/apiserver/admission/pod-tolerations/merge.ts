/** Which tolerations include others. Pure. */
import type { Toleration } from '#api/core/v1/types.gen.js';

/** A toleration with 1.24's empty texts for absent ones. Lists are filled once, because they are compared pair by pair. */
interface Filled {
  readonly key: string;
  readonly operator: string;
  readonly value: string;
  readonly effect: string;
  readonly tolerationSeconds: number | bigint | undefined;
  readonly original: Toleration;
}

function filled(original: Toleration): Filled {
  const { key = '', operator = '', value = '', effect = '', tolerationSeconds } = original;
  return { key, operator, value, effect, tolerationSeconds, original };
}

function isEqual(a: Filled, b: Filled): boolean {
  if (a.key !== b.key || a.operator !== b.operator || a.value !== b.value) return false;
  return a.effect === b.effect && a.tolerationSeconds === b.tolerationSeconds;
}

/** True if `outer` tolerates everything that `inner` does. As in 1.24, an inner one without operator is not included. */
function includes(outer: Filled, inner: Filled): boolean {
  if (isEqual(outer, inner)) return true;
  if (inner.key !== outer.key && (outer.key !== '' || outer.operator !== 'Exists')) return false;
  if (inner.effect !== outer.effect && outer.effect !== '') return false;
  if (outer.effect === 'NoExecute' && outer.tolerationSeconds !== undefined) {
    if (inner.tolerationSeconds === undefined || inner.tolerationSeconds > outer.tolerationSeconds) return false;
  }
  if (outer.operator === 'Exists') return true;
  const isComparison = outer.operator === 'Equal' || outer.operator === '';
  return isComparison && inner.operator === 'Equal' && inner.value === outer.value;
}

/** Both lists in one, without tolerations that others include; of equal ones the first stays. */
export function mergeTolerations(first: readonly Toleration[], second: readonly Toleration[]): readonly Toleration[] {
  const all = [...first, ...second].map(filled);
  const merged: Filled[] = [];
  for (const [i, toleration] of all.entries()) {
    if (merged.some((kept) => includes(kept, toleration))) continue;
    const isNarrower = (next: Filled) => !isEqual(next, toleration) && includes(next, toleration);
    if (!all.slice(i + 1).some(isNarrower)) merged.push(toleration);
  }
  return merged.map(({ original }) => original);
}

/** True if each toleration is included in one of the list. An empty list allows all. */
export function areAllowed(tolerations: readonly Toleration[], allowed: readonly Toleration[]): boolean {
  if (allowed.length === 0) return true;
  const outer = allowed.map(filled);
  return tolerations.map(filled).every((toleration) => outer.some((one) => includes(one, toleration)));
}
