/** Values that are a count or a percentage: `3`, `25%` (intstr.IntOrString). */

export type IntOrString = number | string;

const percentage = /^([+-]?[0-9]+)%$/;

/** The number of a percentage (`25%` → 25); undefined for other values. */
export function parsePercent(text: IntOrString): number | undefined {
  const match = typeof text === 'string' ? percentage.exec(text) : null;
  if (match === null) return undefined;
  const percent = Number(match[1]);
  return Number.isSafeInteger(percent) ? percent : undefined;
}

/**
 * The resulting count: a number stays, a percentage is applied to `total` and rounded up or down. Throws a RangeError
 * with the message of release 1.24 for other strings.
 */
export function scaledValue(value: IntOrString, total: number, rounding: 'up' | 'down'): number {
  if (typeof value === 'number') return value;
  const percent = parsePercent(value);
  if (percent === undefined) {
    throw new RangeError(`invalid value for IntOrString: invalid type: string is not a percentage`);
  }
  const exact = (percent * total) / 100;
  return rounding === 'up' ? Math.ceil(exact) : Math.floor(exact);
}
