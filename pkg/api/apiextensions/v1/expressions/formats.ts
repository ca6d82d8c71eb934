/** Parses texts with schema formats. Source: k8s.io/kube-openapi, pkg/validation/strfmt/{duration,time}.go. */
import { parseDurationText, parseTimestamp } from '#apimachinery/cel/timestamps.js';
import { Duration, Timestamp } from '#apimachinery/cel/values.js';

const second = 1_000_000_000n;

/** The last word of each row may have any ending: `minutes`. */
const units: readonly (readonly [words: readonly string[], nanos: bigint])[] = [
  [['ns', 'nano'], 1n],
  [['us', 'µs', 'micro'], 1_000n],
  [['ms', 'milli'], 1_000_000n],
  [['s', 'sec'], second],
  [['m', 'min'], 60n * second],
  [['h', 'hr', 'hour'], 3600n * second],
  [['d', 'day'], 86_400n * second],
  [['w', 'wk', 'week'], 7n * 86_400n * second],
];

/** `1h30m`, or words: `3 days 2 hours`. Undefined if invalid. */
export function parseFormatDuration(text: string): Duration | undefined {
  const exact = parseDurationText(text);
  if (exact !== undefined) return new Duration(exact);
  let total = 0n;
  let hasUnit = false;
  // Also matches numbers without a word and skips them: searching a word after each digit would be quadratic.
  for (const [, count = '', word = ''] of text.matchAll(/(\d+)\s*([A-Za-z\u00b5]*)/g)) {
    if (word === '') continue;
    if (count.length > 18) return undefined;
    const name = word.toLowerCase();
    for (const [words, nanos] of units) {
      if (!words.includes(name) && !name.startsWith(words.at(-1) ?? name)) continue;
      hasUnit = true;
      total += BigInt(count) * nanos;
    }
  }
  return hasUnit ? new Duration(BigInt.asIntN(64, total)) : undefined;
}

/** A date, optionally with a time of day. Undefined if invalid. */
export function parseFormatTime(text: string, dateOnly: boolean): Timestamp | undefined {
  if (text === '' && !dateOnly) return new Timestamp(0n);
  const local = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(text) ? `${text}Z` : text;
  return parseTimestamp(dateOnly ? `${text}T00:00:00Z` : local);
}
