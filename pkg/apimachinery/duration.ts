/** Durations as text: `1h15m30.5s` (Go's time.Duration, the JSON form of metav1.Duration). */

const nanosPer: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const maxNanos = 2n ** 63n - 1n;
const part = /([0-9]*)(?:\.([0-9]*))?([^0-9.]+)/y;

/** The error for text that is not a duration. */
export class DurationError extends Error {
  override readonly name = 'DurationError';
}

/** Nanoseconds of `300ms`, `-1.5h`, `2h45m`. Throws a DurationError. */
export function parseDurationNanos(text: string): bigint {
  const invalid = () => new DurationError(`time: invalid duration ${JSON.stringify(text)}`);
  if (text.length > 128) throw new DurationError('time: invalid duration');
  const negative = text.startsWith('-');
  const body = negative || text.startsWith('+') ? text.slice(1) : text;
  if (body === '0') return 0n;
  if (body === '') throw invalid();
  let total = 0n;
  let at = 0;
  while (at < body.length) {
    part.lastIndex = at;
    const match = part.exec(body);
    if (match === null) throw /^[0-9.]+$/.test(body.slice(at)) ? missingUnit(text) : invalid();
    const [all, whole = '', fraction = '', unit = ''] = match;
    if (whole === '' && fraction === '') throw invalid();
    const scale = nanosPer[unit];
    if (scale === undefined) {
      throw new DurationError(`time: unknown unit ${JSON.stringify(unit)} in duration ${JSON.stringify(text)}`);
    }
    total += BigInt(whole || '0') * scale;
    if (fraction !== '') total += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
    at += all.length;
  }
  if (total > maxNanos + (negative ? 1n : 0n)) throw invalid();
  return negative ? -total : total;
}

function missingUnit(text: string): DurationError {
  return new DurationError(`time: missing unit in duration ${JSON.stringify(text)}`);
}

/** Milliseconds of a duration, with a fraction. Throws a DurationError. */
export function parseDuration(text: string): number {
  return Number(parseDurationNanos(text)) / 1e6;
}

function trimFraction(whole: bigint, fraction: bigint, digits: number): string {
  if (fraction === 0n) return `${whole}`;
  return `${whole}.${fraction.toString().padStart(digits, '0').replace(/0+$/, '')}`;
}

/** The canonical text: `1h15m30.5s`, `0s`, `1.5ms`. */
export function formatDurationNanos(nanos: bigint): string {
  if (nanos === 0n) return '0s';
  const sign = nanos < 0n ? '-' : '';
  const size = nanos < 0n ? -nanos : nanos;
  if (size < 1_000n) return `${sign}${size}ns`;
  if (size < 1_000_000n) return `${sign}${trimFraction(size / 1_000n, size % 1_000n, 3)}µs`;
  if (size < 1_000_000_000n) return `${sign}${trimFraction(size / 1_000_000n, size % 1_000_000n, 6)}ms`;
  const allSeconds = size / 1_000_000_000n;
  const seconds = `${trimFraction(allSeconds % 60n, size % 1_000_000_000n, 9)}s`;
  const minutes = (allSeconds / 60n) % 60n;
  const hours = allSeconds / 3600n;
  if (hours > 0n) return `${sign}${hours}h${minutes}m${seconds}`;
  return minutes > 0n ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}

/** The canonical text of a number of milliseconds. */
export function formatDuration(ms: number): string {
  return formatDurationNanos(BigInt(Math.round(ms * 1e6)));
}
