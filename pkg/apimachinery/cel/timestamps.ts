/** Parses and formats durations and timestamps in Go's forms, and computes their parts. */
import { CelFailure, type Duration, Timestamp } from '#apimachinery/cel/values.js';
import { DurationError, parseDurationNanos } from '#apimachinery/duration.js';

/** Nanoseconds of `1h30m`, `-1.5s`; undefined if invalid. */
export function parseDurationText(text: string): bigint | undefined {
  try {
    return parseDurationNanos(text);
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    return undefined;
  }
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

/** Undefined if it is not an RFC 3339 time. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hours, minutes, seconds] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined;
  const [fraction = '', zone = 'Z'] = match.slice(7);
  const offset = offsetMinutes(zone);
  if (offset === undefined) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hours, minutes - offset, seconds);
  const nanos = BigInt(date.getTime()) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
  return new Timestamp(nanos, offset);
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/** Minutes east of Greenwich. */
function offsetMinutes(zone: string): number | undefined {
  if (zone === 'Z') return 0;
  const [, sign, hours = '', minutes = ''] = /^([+-])(\d\d):(\d\d)$/.exec(zone) ?? [];
  if (sign === undefined || Number(hours) > 24 || Number(minutes) > 60) return undefined;
  const offset = Number(hours) * 60 + Number(minutes);
  return sign === '-' ? -offset : offset;
}

export function formatTimestamp(time: Timestamp): string {
  const { date, rest } = partsOf(localNanos(time));
  const fraction = rest === 0n ? '' : `.${rest.toString().padStart(9, '0').replace(/0+$/, '')}`;
  return `${date.toISOString().slice(0, 19)}${fraction}${zoneText(time.zoneMinutes)}`;
}

/** Nanoseconds of the local time in its zone. */
function localNanos({ nanos, zoneMinutes }: Timestamp): bigint {
  return nanos + BigInt(zoneMinutes) * 60_000_000_000n;
}

function zoneText(minutes: number): string {
  if (minutes === 0) return 'Z';
  const size = Math.abs(minutes);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(Math.trunc(size / 60))}:${two(size % 60)}`;
}

/** Seconds in the shortest form. */
export function formatDuration({ nanos }: Duration): string {
  const negative = nanos < 0n;
  const size = negative ? -nanos : nanos;
  const [whole, rest] = [size / 1_000_000_000n, size % 1_000_000_000n];
  const fraction = rest === 0n ? '' : `.${rest.toString().padStart(9, '0').replace(/0+$/, '')}`;
  return `${negative ? '-' : ''}${whole}${fraction}s`;
}

function partsOf(nanos: bigint): { date: Date; rest: bigint } {
  const second = 1_000_000_000n;
  const rest = ((nanos % second) + second) % second;
  return { date: new Date(Number((nanos - rest) / 1_000_000n)), rest };
}

/** The part of a duration that a function returns; undefined for other functions. */
export function durationPart(fn: string, { nanos }: Duration): bigint | undefined {
  switch (fn) {
    case 'getHours':
      return nanos / 3_600_000_000_000n;
    case 'getMinutes':
      return nanos / 60_000_000_000n;
    case 'getSeconds':
      return nanos / 1_000_000_000n;
    case 'getMilliseconds':
      return nanos / 1_000_000n;
    default:
      return undefined;
  }
}

/**
 * The result of a function of timestamps; undefined for others. `zone`: a name or offset, by default the time's own.
 */
export function timestampPart(fn: string, time: Timestamp, zone?: string): bigint | CelFailure | undefined {
  const local = zone === undefined ? localNanos(time) : inZone(time, zone === '' ? 'UTC' : zone);
  if (local instanceof CelFailure) return local;
  const { date, rest } = partsOf(local);
  switch (fn) {
    case 'getFullYear':
      return BigInt(date.getUTCFullYear());
    case 'getMonth':
      return BigInt(date.getUTCMonth());
    case 'getDayOfYear':
      return BigInt(Math.floor((date.getTime() - startOfYear(date)) / 86_400_000));
    case 'getDayOfMonth':
      return BigInt(date.getUTCDate() - 1);
    case 'getDate':
      return BigInt(date.getUTCDate());
    case 'getDayOfWeek':
      return BigInt(date.getUTCDay());
    case 'getHours':
      return BigInt(date.getUTCHours());
    case 'getMinutes':
      return BigInt(date.getUTCMinutes());
    case 'getSeconds':
      return BigInt(date.getUTCSeconds());
    case 'getMilliseconds':
      return rest / 1_000_000n;
    default:
      return undefined;
  }
}

function startOfYear(date: Date): number {
  const start = new Date(0);
  start.setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return start.getTime();
}

/** The time whose UTC parts equal the local parts in the zone. */
function inZone({ nanos }: Timestamp, zone: string): bigint | CelFailure {
  const minutes = zone.includes(':') ? offsetMinutes(/^[+-]/.test(zone) ? zone : `+${zone}`) : undefined;
  if (minutes !== undefined) return nanos + BigInt(minutes) * 60_000_000_000n;
  try {
    const { date, rest } = partsOf(nanos);
    const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, era: 'short', ...numericParts });
    const parts = new Map(format.formatToParts(date).map(({ type, value }) => [type, value]));
    const of = (name: Intl.DateTimeFormatPartTypes) => Number(parts.get(name));
    const local = new Date(0);
    local.setUTCFullYear(of('year'), of('month') - 1, of('day'));
    local.setUTCHours(of('hour') % 24, of('minute'), of('second'));
    return BigInt(local.getTime()) * 1_000_000n + rest;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return new CelFailure(`unknown time zone ${zone}`);
  }
}

const numericParts = {
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
  hourCycle: 'h23',
} as const;
