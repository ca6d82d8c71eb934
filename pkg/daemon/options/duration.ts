/** Go's duration notation (`1h15m0.5s`), in milliseconds. */

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Longest duration that fits Go's 64-bit nanoseconds. */
const maxMs = 2 ** 63 / 1e6;

/** Milliseconds of a duration such as `300ms`, `-1.5h` or `2h45m`; throws RangeError in Go's words for anything else. */
export function parseDuration(text: string): number {
  const invalid = () => new RangeError(`time: invalid duration ${JSON.stringify(text)}`);
  const sign = text.startsWith('-') ? -1 : 1;
  const body = text.replace(/^[+-]/, '');
  if (body === '0') return 0;
  if (body === '') throw invalid();
  const part = /(\d+\.?\d*|\.\d+)([a-zµμ]*)/y;
  let ms = 0;
  while (part.lastIndex < body.length) {
    const match = part.exec(body);
    if (match === null) throw invalid();
    const [, number = '', unit = ''] = match;
    if (unit === '') throw new RangeError(`time: missing unit in duration ${JSON.stringify(text)}`);
    const factor = unitMs[unit];
    if (factor === undefined) {
      throw new RangeError(`time: unknown unit ${JSON.stringify(unit)} in duration ${JSON.stringify(text)}`);
    }
    ms += Number(number) * factor;
  }
  if (ms > maxMs) throw invalid();
  return ms === 0 ? 0 : sign * ms;
}

/** Go's notation of `ms`: `1m0s`, `1.5s`, `250ms`, `8760h0m0s`, `0s`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  const sign = ms < 0 ? '-' : '';
  const abs = Math.abs(ms);
  if (abs < 1000) {
    if (abs >= 1) return `${sign}${trim(abs)}ms`;
    return abs >= 1e-3 ? `${sign}${trim(abs * 1e3)}µs` : `${sign}${trim(abs * 1e6)}ns`;
  }
  const hours = Math.floor(abs / 3_600_000);
  const minutes = Math.floor((abs % 3_600_000) / 60_000);
  const seconds = `${trim((abs % 60_000) / 1000)}s`;
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}

function trim(value: number): string {
  return String(Number(value.toFixed(9)));
}
