import t from 'tap';
import { formatDuration, formatDurationNanos, parseDuration, parseDurationNanos } from '#apimachinery/duration.js';
import { parsePercent, scaledValue } from '#apimachinery/intstr.js';

t.test('durations', async (t) => {
  const rows: [string, bigint, string][] = [
    ['0', 0n, '0s'],
    ['0s', 0n, '0s'],
    ['1ns', 1n, '1ns'],
    ['1.5us', 1_500n, '1.5µs'],
    ['300ms', 300_000_000n, '300ms'],
    ['1h15m30.918s', 4_530_918_000_000n, '1h15m30.918s'],
    ['90s', 90_000_000_000n, '1m30s'],
    ['-1.5h', -5_400_000_000_000n, '-1h30m0s'],
    ['2h', 7_200_000_000_000n, '2h0m0s'],
    ['.5s', 500_000_000n, '500ms'],
  ];
  for (const [text, nanos, canonical] of rows) {
    t.equal(parseDurationNanos(text), nanos, text);
    t.equal(formatDurationNanos(nanos), canonical, canonical);
    t.equal(parseDurationNanos(canonical), nanos, `${canonical} parses back`);
  }
  t.equal(parseDuration('1.5ms'), 1.5);
  t.equal(formatDuration(40_000), '40s');
  for (const text of ['', '-', '3', '1x', 's', '.s', '1..5s', '1s ', '9999999h']) {
    t.throws(() => parseDurationNanos(text), { name: 'DurationError' }, JSON.stringify(text));
  }
  t.throws(() => parseDurationNanos('3'), /missing unit in duration "3"/);
  t.throws(() => parseDurationNanos('1x'), /unknown unit "x" in duration "1x"/);
});

t.test('counts and percentages', async (t) => {
  t.equal(scaledValue(3, 10, 'up'), 3);
  t.equal(scaledValue('25%', 10, 'up'), 3);
  t.equal(scaledValue('25%', 10, 'down'), 2);
  t.equal(scaledValue('7%', 100, 'up'), 7);
  t.equal(parsePercent('100%'), 100);
  t.equal(parsePercent('100'), undefined);
  t.throws(() => scaledValue('abc', 10, 'up'), RangeError);
});
