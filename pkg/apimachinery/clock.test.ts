import t from 'tap';
import { formatMicroTime, formatTime, parseTime } from '#apimachinery/clock.js';

t.test('times are formatted and parsed', (t) => {
  const rows: [number, string][] = [
    [0, '1970-01-01T00:00:00Z'],
    [999, '1970-01-01T00:00:00Z'],
    [1000, '1970-01-01T00:00:01Z'],
    [1_717_200_000_000, '2024-06-01T00:00:00Z'],
    [1_717_200_000_999, '2024-06-01T00:00:00Z'],
    [999, '1970-01-01T00:00:00Z'],
    [-1, '1969-12-31T23:59:59Z'],
    [-1000, '1969-12-31T23:59:59Z'],
    [-1001, '1969-12-31T23:59:58Z'],
  ];
  for (const [ms, text] of rows) t.equal(formatTime(ms), text, `${ms}`);
  t.throws(() => formatTime(Number.NaN), RangeError);
  t.equal(formatTime(0), '1970-01-01T00:00:00Z');
  t.equal(formatMicroTime(1), '1970-01-01T00:00:00.001000Z');
  t.equal(parseTime('1970-01-01T00:00:01Z'), 1000);
  t.end();
});
