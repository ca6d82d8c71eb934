/**
 * A field of a cron schedule: a list of values and ranges. Rules and messages of release 1.24 (robfig/cron v3). Pure.
 *  Own parser: npm packages for cron differ from robfig/cron in accepted syntax and messages.
 */

/** The error for an invalid schedule. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
}

export interface FieldBounds {
  readonly low: number;
  readonly high: number;
  /** Names of values from `low` on, in lower case. */
  readonly names?: readonly string[];
}

export interface CronField {
  /** Empty for a list without parts, which no time matches. */
  readonly values: ReadonlySet<number>;
  /** A part of the list includes all values, so the field does not restrict times. */
  readonly isAny: boolean;
}

const maxInteger = 2n ** 63n - 1n;
const minInteger = -(2n ** 63n);

/** Skips empty parts. Throws a ScheduleError for the first invalid part. */
export function parseField(field: string, bounds: FieldBounds): CronField {
  const values = new Set<number>();
  let isAny = false;
  for (const part of field.split(',')) {
    if (part === '') continue;
    const { start, end, step, any } = parseRange(part, bounds);
    for (let value = start; value <= end; value += step) values.add(value);
    if (any) isAny = true;
  }
  return { values, isAny };
}

interface Range {
  readonly start: number;
  readonly end: number;
  readonly step: number;
  readonly any: boolean;
}

/** Checks in the order of 1.24, so that a text with several faults gets the same message. */
function parseRange(part: string, bounds: FieldBounds): Range {
  const { low, high } = bounds;
  const [range = '', stepText, ...slashes] = part.split('/');
  const [first = '', last, ...hyphens] = range.split('-');
  const star = first === '*' || first === '?';
  const start = star ? BigInt(low) : parseValue(first, bounds);
  if (!star && hyphens.length > 0) throw new ScheduleError(`too many hyphens: ${part}`);
  let end = star ? BigInt(high) : last === undefined ? start : parseValue(last, bounds);
  if (slashes.length > 0) throw new ScheduleError(`too many slashes: ${part}`);
  const step = stepText === undefined ? 1n : parseInteger(stepText);
  // A start with a step but no end extends to the end of the field.
  if (stepText !== undefined && last === undefined) end = BigInt(high);
  if (start < low) throw new ScheduleError(`beginning of range (${start}) below minimum (${low}): ${part}`);
  if (end > high) throw new ScheduleError(`end of range (${end}) above maximum (${high}): ${part}`);
  if (start > end) throw new ScheduleError(`beginning of range (${start}) beyond end of range (${end}): ${part}`);
  if (step === 0n) throw new ScheduleError(`step of range should be a positive number: ${part}`);
  return { start: Number(start), end: Number(end), step: Number(step), any: star && step === 1n };
}

function parseValue(text: string, { low, names = [] }: FieldBounds): bigint {
  const index = names.indexOf(text.toLowerCase());
  return index >= 0 ? BigInt(index + low) : parseInteger(text);
}

function parseInteger(text: string): bigint {
  const failure = (why: string) => {
    const quoted = JSON.stringify(text);
    return new ScheduleError(`failed to parse int from ${text}: strconv.Atoi: parsing ${quoted}: ${why}`);
  };
  const [, sign = '', digits] = /^([+-]?)(\d+)$/.exec(text) ?? [];
  if (digits === undefined) throw failure('invalid syntax');
  // Numbers are decimal; long ones are not parsed, since a schedule may be as long as an object.
  const value = digits.length > 32 && !/^0/.test(digits) ? maxInteger + 1n : BigInt(digits);
  const signed = sign === '-' ? -value : value;
  if (signed > maxInteger || signed < minInteger) throw failure('value out of range');
  if (signed < 0n) throw new ScheduleError(`negative number (${signed}) not allowed: ${text}`);
  return signed;
}
