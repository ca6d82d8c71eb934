/** Which tolerations include others. Pure. */
import type { Toleration } from '#api/core/v1/types.gen.js';

/** The toleration with 1.24's empty texts for absent ones. */
function filled({ key = '', operator = '', value = '', effect = '', tolerationSeconds }: Toleration) {
  return { key, operator, value, effect, tolerationSeconds };
}

function isEqual(a: Toleration, b: Toleration): boolean {
  const [one, other] = [filled(a), filled(b)];
  return (['key', 'operator', 'value', 'effect', 'tolerationSeconds'] as const).every((key) => one[key] === other[key]);
}

/** True if `outer` tolerates everything that `inner` does. As in 1.24, an inner one without operator is not included. */
function includes(outer: Toleration, inner: Toleration): boolean {
  if (isEqual(outer, inner)) return true;
  const [o, i] = [filled(outer), filled(inner)];
  if (i.key !== o.key && (o.key !== '' || o.operator !== 'Exists')) return false;
  if (i.effect !== o.effect && o.effect !== '') return false;
  if (o.effect === 'NoExecute' && o.tolerationSeconds !== undefined) {
    if (i.tolerationSeconds === undefined || i.tolerationSeconds > o.tolerationSeconds) return false;
  }
  if (o.operator === 'Exists') return true;
  return (o.operator === 'Equal' || o.operator === '') && i.operator === 'Equal' && i.value === o.value;
}

/** Both lists in one, without tolerations that others include; of equal ones the first stays. */
export function mergeTolerations(first: readonly Toleration[], second: readonly Toleration[]): readonly Toleration[] {
  const all = [...first, ...second];
  const merged: Toleration[] = [];
  all.forEach((toleration, i) => {
    if (merged.some((kept) => includes(kept, toleration))) return;
    const rest = all.slice(i + 1);
    if (rest.some((next) => !isEqual(next, toleration) && includes(next, toleration))) return;
    merged.push(toleration);
  });
  return merged;
}

/** True if each toleration is included in one of the list. An empty list allows all. */
export function areAllowed(tolerations: readonly Toleration[], allowed: readonly Toleration[]): boolean {
  if (allowed.length === 0) return true;
  return tolerations.every((toleration) => allowed.some((one) => includes(one, toleration)));
}
