/** Taints of nodes and their tolerations. */
import type { Taint, Toleration } from '#api/core/v1/types.gen.js';

/** `key[=value]:effect`, as on command lines. */
export function taintText({ key, value = '', effect }: Pick<Taint, 'key' | 'value' | 'effect'>): string {
  return `${key}${value === '' ? '' : `=${value}`}:${effect}`;
}

/** True if the toleration tolerates the taint. An empty key or effect matches all. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if ((toleration.effect ?? '') !== '' && toleration.effect !== taint.effect) return false;
  if ((toleration.key ?? '') !== '' && toleration.key !== taint.key) return false;
  switch (toleration.operator ?? '') {
    case '':
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '');
    case 'Exists':
      return true;
    default:
      return false;
  }
}

/** True if any toleration tolerates the taint. */
export function toleratedBy(tolerations: readonly Toleration[] | undefined, taint: Taint): boolean {
  return tolerations?.some((toleration) => tolerates(toleration, taint)) ?? false;
}

/** The first taint with one of the effects that no toleration tolerates. */
export function findUntoleratedTaint(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  effects: readonly string[],
): Taint | undefined {
  return taints?.find((taint) => effects.includes(taint.effect) && !toleratedBy(tolerations, taint));
}
