/** Cron schedules: five fields, or a name such as `@daily`. */
import { parseField, ScheduleError } from '#api/batch/v1/cronjob/cron-field.js';
import { DurationError, parseDuration } from '#apimachinery/duration.js';

/** The matching values of each field. A day matches by either day field, unless one of them is `*`. */
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

/** Field separators (Go's unicode.IsSpace). */
const blanks = '\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000';
const separators = new RegExp(`[${blanks}]+`);
const surrounding = new RegExp(`^[${blanks}]+|[${blanks}]+$`, 'g');

/**
 * Parses a schedule with an optional prefix `TZ=` or `CRON_TZ=`. Blanks around a name such as `@daily` make it invalid,
 * except after a time zone. Throws a ScheduleError.
 */
export function parseSchedule(text: string): Schedule {
  if (text === '') throw new ScheduleError('empty spec string');
  const { timeZone, spec } = splitTimeZone(text);
  if (spec.startsWith('@every ')) return { kind: 'every', intervalMs: parseInterval(spec) };
  const body = spec.startsWith('@') ? (Object.hasOwn(named, spec) ? named[spec] : undefined) : spec;
  if (body === undefined) throw new ScheduleError(`unrecognized descriptor: ${spec}`);
  const parts = body.split(separators).filter((part) => part !== '');
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
  const minute = parseField(minutes, { low: 0, high: 59 });
  const hour = parseField(hours, { low: 0, high: 23 });
  const day = parseField(days, { low: 1, high: 31 });
  const month = parseField(months, { low: 1, high: 12, names: monthNames });
  const weekday = parseField(weekdays, { low: 0, high: 6, names: dayNames });
  const fields: CronFields = {
    minutes: minute.values,
    hours: hour.values,
    days: day.values,
    months: month.values,
    weekdays: weekday.values,
    anyDay: day.isAny,
    anyWeekday: weekday.isAny,
  };
  return { kind: 'fields', timeZone, fields };
}

function splitTimeZone(text: string): { timeZone: string | undefined; spec: string } {
  const prefix = /^(?:CRON_)?TZ=/.exec(text)?.[0];
  if (prefix === undefined) return { timeZone: undefined, spec: text };
  const end = text.indexOf(' ');
  const name = text.slice(prefix.length, end < 0 ? undefined : end);
  // A time zone without fields crashes 1.24's parser.
  if (end < 0) throw new ScheduleError(`expected exactly 5 fields, found 0: []`);
  if (name !== '' && name !== 'Local' && !isTimeZone(name)) {
    const isPath = name.includes('..') || /^[/\\]/.test(name);
    const why = isPath ? 'time: invalid location name' : `unknown time zone ${name}`;
    throw new ScheduleError(`provided bad location ${name}: ${why}`);
  }
  return { timeZone: name === '' ? 'UTC' : name, spec: text.slice(end).replace(surrounding, '') };
}

/** True for names of the time zone database in their exact case; false for offsets such as `+01:00`. */
export function isTimeZone(name: string): boolean {
  if (!name.split('/').every((part) => /^[A-Z]/.test(part))) return false;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    // The runtime accepts any case and returns the name that an alias stands for.
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase();
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
