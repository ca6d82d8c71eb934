/** Durations for tables: at most two units, coarser the longer ago. */
import { parseTime } from '#apimachinery/clock.js';

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/**
 * `45s`, `5m10s`, `3h20m`, `2d4h`, `1y30d`. Up to a second in the future counts as now; later times are `<invalid>`.
 */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / secondMs);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(ms / minuteMs);
  if (minutes < 10) return twoUnits(minutes, 'm', seconds % 60, 's');
  if (minutes < 3 * 60) return `${minutes}m`;
  const hours = Math.floor(ms / hourMs);
  if (hours < 8) return twoUnits(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 8 * 24) return twoUnits(days, 'd', hours % 24, 'h');
  if (hours < 2 * 365 * 24) return `${days}d`;
  const years = Math.floor(days / 365);
  if (hours < 8 * 365 * 24) return twoUnits(years, 'y', days % 365, 'd');
  return `${years}y`;
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

/** The duration from a timestamp to `now` (ms); `<unknown>` without timestamp. */
export function age(timestamp: string | undefined, now: number): string {
  const at = timestamp === undefined ? Number.NaN : parseTime(timestamp);
  return Number.isNaN(at) ? '<unknown>' : humanDuration(now - at);
}
