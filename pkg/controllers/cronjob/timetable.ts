/**
 * Computes the instants of a schedule. Pure except for the time zone database.
 *
 * Cron libraries with time zones parse lines differently from the API's validation, and differ at daylight saving
 * changes. As in 1.24, an instant matches when the wall clock of the zone matches the fields: skipped hours do not run
 * on that day, and repeated hours run twice.
 */
import type { CronFields, Schedule } from '#api/batch/v1/cronjob/schedule.js';

const minuteMs = 60_000;
/** The search for a matching day ends after this many years. */
const maxYears = 5;

export interface Timetable {
  /** The first instant after `afterMs`; undefined when there is none. */
  next(afterMs: number): number | undefined;
  /** The last instant from `first`, which is an instant of the schedule, to `untilMs`. */
  last(range: { readonly first: number; readonly untilMs: number }): number;
}

/** `localZone` applies when the schedule names no zone. */
export function timetableOf(schedule: Schedule, localZone: string): Timetable {
  if (schedule.kind === 'every') return everyTimetable(schedule.intervalMs);
  const named = schedule.timeZone === 'Local' ? undefined : schedule.timeZone;
  return fieldsTimetable(schedule.fields, new ZoneClock(named ?? localZone));
}

/** Adds the interval to the previous instant, in whole seconds. */
function everyTimetable(intervalMs: number): Timetable {
  const step = Math.floor(intervalMs / 1000) * 1000;
  return {
    next: (afterMs) => Math.floor(afterMs / 1000) * 1000 + step,
    last: ({ first, untilMs }) => first + Math.max(0, Math.floor((untilMs - first) / step)) * step,
  };
}

function fieldsTimetable(fields: CronFields, zone: ZoneClock): Timetable {
  const next = (afterMs: number) => nextOf(fields, zone, afterMs);
  return {
    next,
    last({ first, untilMs }) {
      let last = first;
      // Search for an instant from growing distances before the end, then step forward to the last one.
      for (let backMs = 2 * minuteMs; untilMs - backMs > first; backMs *= 2) {
        const instant = next(untilMs - backMs);
        if (instant === undefined || instant > untilMs) continue;
        last = instant;
        break;
      }
      for (let after = next(last); after !== undefined && after <= untilMs; after = next(last)) last = after;
      return last;
    },
  };
}

function nextOf(fields: CronFields, zone: ZoneClock, afterMs: number): number | undefined {
  // An empty list never matches; return early instead of searching years minute by minute.
  if (fields.minutes.size === 0 || fields.hours.size === 0) return undefined;
  let ms = (Math.floor(afterMs / minuteMs) + 1) * minuteMs;
  const lastYear = zone.read(ms).year + maxYears;
  for (;;) {
    const { year, month, day, weekday, hour, minute } = zone.read(ms);
    if (year > lastYear) return undefined;
    const restOfDay = (24 - hour) * 60 - minute;
    if (!fields.months.has(month)) {
      ms = zone.forward(ms, (daysIn(year, month) - day) * 1440 + restOfDay);
    } else if (!matchesDay(fields, day, weekday)) ms = zone.forward(ms, restOfDay);
    else if (!fields.hours.has(hour)) ms = zone.forward(ms, 60 - minute);
    else if (!fields.minutes.has(minute)) ms += minuteMs;
    else return ms;
  }
}

function matchesDay({ days, weekdays, anyDay, anyWeekday }: CronFields, day: number, weekday: number): boolean {
  const both = anyDay || anyWeekday;
  return both ? days.has(day) && weekdays.has(weekday) : days.has(day) || weekdays.has(weekday);
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

interface WallTime {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
}

/** Zones without an offset, whose wall clock needs no time zone database. */
const withoutOffset: ReadonlySet<string> = new Set(['UTC', 'Etc/UTC']);

/** Converts instants to the wall clock of a zone. */
class ZoneClock {
  /** Absent for zones without an offset. */
  readonly #format: Intl.DateTimeFormat | undefined;

  constructor(timeZone: string) {
    if (withoutOffset.has(timeZone)) return;
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  read(ms: number): WallTime {
    const shown = new Date(ms + this.#offset(ms));
    return {
      year: shown.getUTCFullYear(),
      month: shown.getUTCMonth() + 1,
      day: shown.getUTCDate(),
      weekday: shown.getUTCDay(),
      hour: shown.getUTCHours(),
      minute: shown.getUTCMinutes(),
    };
  }

  /** Adds `minutes` of wall clock time. When clocks are put forward, the result is earlier, so that no instant is skipped. */
  forward(ms: number, minutes: number): number {
    const end = ms + minutes * minuteMs;
    const skipped = this.#offset(end) - this.#offset(ms);
    return skipped > 0 ? Math.max(ms + minuteMs, end - skipped) : end;
  }

  /** The offset from UTC in milliseconds. */
  #offset(ms: number): number {
    if (this.#format === undefined) return 0;
    const parts: Record<string, number> = {};
    for (const { type, value } of this.#format.formatToParts(ms)) if (type !== 'literal') parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000;
  }
}
