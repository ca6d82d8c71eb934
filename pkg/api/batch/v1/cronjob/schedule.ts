/** Schedules in the syntax of cron: five fields, or a name such as `@daily`. */
import { DurationError, parseDuration } from '#apimachinery/duration.js';

/** Times that match: each field's allowed values. Days match by either field unless one of them is `*`. */
export interface CronFields {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>;
  readonly anyDay: boolean;
  readonly anyWeekday: boolean;
}

export type Schedule =
  | { readonly kind: 'fields'; readonly timeZone: string | undefined; readonly fields: CronFields }
  | { readonly kind: 'every'; readonly intervalMs: number };

/** What is wrong with a text that is no schedule. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
}

const named: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** Parses a schedule, with an optional `TZ=` or `CRON_TZ=` in front. Throws a ScheduleError. */
export function parseSchedule(text: string): Schedule {
  const zone = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/.exec(text.trim());
  const timeZone = zone?.[1];
  if (timeZone !== undefined && timeZone !== 'Local' && !isTimeZone(timeZone)) {
    throw new ScheduleError(`provided bad location ${timeZone}: unknown time zone ${timeZone}`);
  }
  const spec = (zone?.[2] ?? text).trim();
  if (spec === '') throw new ScheduleError('empty spec string');
  if (spec.startsWith('@every ')) return { kind: 'every', intervalMs: parseInterval(spec) };
  const body = spec.startsWith('@') ? (Object.hasOwn(named, spec) ? named[spec] : undefined) : spec;
  if (body === undefined) throw new ScheduleError(`unrecognized descriptor: ${spec}`);
  const parts = body.split(/\s+/);
  const [minutes, hours, days, months, weekdays] = parts;
  if (
    parts.length !== 5 ||
    minutes === undefined ||
    hours === undefined ||
    days === undefined ||
    months === undefined ||
    weekdays === undefined
  ) {
    throw new ScheduleError(`expected exactly 5 fields, found ${parts.length}: [${parts.join(' ')}]`);
  }
  const fields: CronFields = {
    minutes: parseField(minutes, 0, 59, []),
    hours: parseField(hours, 0, 23, []),
    days: parseField(days, 1, 31, []),
    months: parseField(months, 1, 12, monthNames),
    weekdays: parseField(weekdays, 0, 6, dayNames),
    anyDay: isAny(days),
    anyWeekday: isAny(weekdays),
  };
  return { kind: 'fields', timeZone, fields };
}

/** True for the names of the time zone database; offsets such as `+01:00` are none of them. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return false;
  }
}

function parseInterval(spec: string): number {
  try {
    return Math.max(1000, parseDuration(spec.slice('@every '.length)));
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw new ScheduleError(`failed to parse duration ${spec}: ${error.message}`, { cause: error });
  }
}

function isAny(field: string): boolean {
  return /^[*?](?:\/1)?$/.test(field);
}

function parseField(field: string, low: number, high: number, names: readonly string[]): Set<number> {
  const values = new Set<number>();
  for (const range of field.split(',')) {
    const [bounds = '', stepText, ...slashes] = range.split('/');
    const [first = '', last, ...hyphens] = bounds.split('-');
    const any = first === '*' || first === '?';
    if (!any && hyphens.length > 0) throw new ScheduleError(`too many hyphens: ${range}`);
    if (slashes.length > 0) throw new ScheduleError(`too many slashes: ${range}`);
    const step = stepText === undefined ? 1 : parseInteger(stepText);
    const start = any ? low : parseNumber(first, low, names);
    // A start with a step and no end runs to the end of the field.
    const end = any ? high : last !== undefined ? parseNumber(last, low, names) : stepText === undefined ? start : high;
    if (start < low) throw new ScheduleError(`beginning of range (${start}) below minimum (${low}): ${range}`);
    if (end > high) throw new ScheduleError(`end of range (${end}) above maximum (${high}): ${range}`);
    if (start > end) throw new ScheduleError(`beginning of range (${start}) beyond end of range (${end}): ${range}`);
    if (step === 0) throw new ScheduleError(`step of range should be a positive number: ${range}`);
    for (let value = start; value <= end; value += step) values.add(value);
  }
  return values;
}

function parseNumber(text: string, low: number, names: readonly string[]): number {
  const index = names.indexOf(text.toLowerCase());
  if (index >= 0) return index + low;
  return parseInteger(text);
}

function parseInteger(text: string): number {
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) {
    throw new ScheduleError(`failed to parse int from ${text}: strconv.Atoi: parsing "${text}": invalid syntax`);
  }
  if (!Number.isSafeInteger(value)) {
    throw new ScheduleError(`failed to parse int from ${text}: strconv.Atoi: parsing "${text}": value out of range`);
  }
  if (value < 0) throw new ScheduleError(`negative number (${value}) not allowed: ${text}`);
  return value;
}
