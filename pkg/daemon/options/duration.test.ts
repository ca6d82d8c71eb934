import t from 'tap';
import { formatDuration, parseDuration } from '#daemon/options/duration.js';

t.test('parse', async (t) => {
  const rows: [string, number][] = [
    ['0', 0],
    ['15s', 15_000],
    ['1m0s', 60_000],
    ['8760h0m0s', 31_536_000_000],
    ['1.5h', 5_400_000],
    ['-2m', -120_000],
    ['+5ms', 5],
    ['.5s', 500],
    ['100us', 0.1],
    ['1h15m30.918273645s', 4_530_918.273645],
  ];
  for (const [text, ms] of rows) t.equal(parseDuration(text), ms, text);
  for (const text of ['', '3', '-', 's', '.', '1.s2', '5 s', '1d', '3000000h', 'h1', '1e3s', '--1s', 'NaN']) {
    t.throws(() => parseDuration(text), RangeError, JSON.stringify(text));
  }
});

t.test('format', async (t) => {
  const rows: [number, string][] = [
    [0, '0s'],
    [15_000, '15s'],
    [60_000, '1m0s'],
    [31_536_000_000, '8760h0m0s'],
    [1500, '1.5s'],
    [250, '250ms'],
    [-120_000, '-2m0s'],
    [0.1, '100µs'],
  ];
  for (const [ms, text] of rows) {
    t.equal(formatDuration(ms), text);
    t.equal(parseDuration(text), ms);
  }
});
