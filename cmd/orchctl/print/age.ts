/** Durations as people read them: `45s`, `3m20s`, `5h`, `2d3h`, `400d`. */

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** The two leading units while the first is small; one afterwards (as 1.24's clients print ages). */
export function humanDuration(ms: number): string {
  if (ms < 2 * minute) return `${Math.max(0, Math.floor(ms / second))}s`;
  if (ms < 10 * minute) return two(ms, minute, 'm', second, 's');
  if (ms < 3 * hour) return `${Math.floor(ms / minute)}m`;
  if (ms < 8 * hour) return two(ms, hour, 'h', minute, 'm');
  if (ms < 2 * day) return `${Math.floor(ms / hour)}h`;
  if (ms < 8 * day) return two(ms, day, 'd', hour, 'h');
  if (ms < 2 * year) return `${Math.floor(ms / day)}d`;
  if (ms < 8 * year) return two(ms, year, 'y', day, 'd');
  return `${Math.floor(ms / year)}y`;
}

/** Time since an RFC 3339 instant; `<unknown>` without one. */
export function ageOf(instant: string | undefined, nowMs: number): string {
  const ms = instant === undefined ? Number.NaN : Date.parse(instant);
  return Number.isNaN(ms) ? '<unknown>' : humanDuration(nowMs - ms);
}

function two(ms: number, unit: number, name: string, smaller: number, smallerName: string): string {
  const rest = Math.floor((ms % unit) / smaller);
  return `${Math.floor(ms / unit)}${name}${rest === 0 ? '' : `${rest}${smallerName}`}`;
}
