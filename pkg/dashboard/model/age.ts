/** Durations as the server's tables print them: `5d`, `3h12m`, `45s`. */

const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 } as const;

/** As `duration.HumanDuration` of 1.24 prints it; empty for an unknown time. */
export function ageText(ms: number): string {
  if (Number.isNaN(ms)) return '';
  const seconds = Math.floor(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 192) return two(days, 'd', hours % 24, 'h');
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? two(years, 'y', days % 365, 'd') : `${years}y`;
}

function two(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

/** Milliseconds of `3h12m` at the text's beginning; undefined for other texts. */
export function durationMs(text: string): number | undefined {
  const parts = /^(?:(\d+)y)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?= |$)/.exec(text);
  if (parts === null || parts[0] === '') return undefined;
  const [, years, days, hours, minutes, seconds] = parts.map((part) => Number(part ?? 0));
  return (
    ((years ?? 0) * 365 + (days ?? 0)) * units.d +
    (hours ?? 0) * units.h +
    (minutes ?? 0) * units.m +
    (seconds ?? 0) * units.s
  );
}
