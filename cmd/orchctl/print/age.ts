/** Ages as the server prints them, for a client whose clock may be slightly behind. */

import { humanDuration as serverDuration } from '#api/table/age.js';
import { parseTime } from '#apimachinery/clock.js';

/** `45s`, `3m20s`, `5h`, `2d3h`, `400d`; times in the future become `0s`. */
export function humanDuration(ms: number): string {
  return serverDuration(Math.max(0, ms));
}

/** Time since an RFC 3339 time; `<unknown>` without one. */
export function ageOf(instant: string | undefined, nowMs: number): string {
  const ms = instant === undefined ? Number.NaN : parseTime(instant);
  return Number.isNaN(ms) ? '<unknown>' : humanDuration(nowMs - ms);
}
