/**
 * The instants that a schedule names. Pure but for the database of time zones.
 *
 * Our own: libraries for cron lines that know time zones read lines in other ways than the API's validation does, and
 * make other instants of the hours that a change of the clocks skips or repeats. Here, as in 1.24, an instant belongs to
 * a schedule when the clocks of its zone then show what its fields say: what is skipped does not run that day, and what
 * is repeated runs twice.
 */
import type { CronFields, Schedule } from '#api/batch/v1/cronjob/schedule.js';

const minuteMs = 60_000;
/** Fields that match on no day of so many years match never. */
const maxYears = 5;

export interface Timetable {
  /** The first instant (ms) after the given one; undefined when there is none. */
  next(afterMs: number): number | undefined;
  /** The last instant after `afterMs` and not after `untilMs`, of which `first` is the first. */
  last(range: { readonly first: number; readonly untilMs: number }): number;
}

/** `localZone`: what the schedule's hours are of when it names no zone. */
export function timetableOf(schedule: Schedule, localZone: string): Timetable {
  if (schedule.kind === 'every') return everyTimetable(schedule.intervalMs);
  const named = schedule.timeZone === 'Local' ? undefined : schedule.timeZone;
  return fieldsTimetable(schedule.fields, new ZoneClock(named ?? localZone));
}

/** Counted from whatever comes before, in whole seconds. */
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
      // From a little before the end, ever further back, until an instant is found; then forward to the last one.
      for (let backMs = 2 * minuteMs; untilMs - backMs > first; backMs *= 2) {
        let found = next(untilMs - backMs);
        if (found === undefined || found > untilMs) continue;
        for (let later = next(found); later !== undefined && later <= untilMs; later = next(found)) found = later;
        return found;
      }
      let found = first;
      for (let later = next(found); later !== undefined && later <= untilMs; later = next(found)) found = later;
      return found;
    },
  };
}

function nextOf(fields: CronFields, zone: ZoneClock, afterMs: number): number | undefined {
  // A list without parts matches never; without this, years would be searched minute by minute.
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
  /** From 1. */
  readonly month: number;
  readonly day: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
}

/** What the clocks of a zone show. */
class ZoneClock {
  readonly #format: Intl.DateTimeFormat;

  constructor(timeZone: string) {
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

  /** `minutes` later by these clocks, or before that where they are put forward on the way: nothing is jumped over. */
  forward(ms: number, minutes: number): number {
    const later = ms + minutes * minuteMs;
    const lost = this.#offset(later) - this.#offset(ms);
    return lost > 0 ? Math.max(ms + minuteMs, later - lost) : later;
  }

  /** What these clocks are ahead of UTC, in milliseconds. */
  #offset(ms: number): number {
    const parts: Record<string, number> = {};
    for (const { type, value } of this.#format.formatToParts(ms)) if (type !== 'literal') parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000;
  }
}
