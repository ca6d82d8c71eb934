import t from 'tap';
import { parseInt64 } from '#apimachinery/int64.js';

t.test('integers of 64 bits', (t) => {
  const rows: [string, bigint | undefined][] = [
    ['0', 0n],
    ['007', 7n],
    ['+5', 5n],
    ['-5', -5n],
    ['9007199254740993', 9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9223372036854775808', undefined],
    ['-9223372036854775809', undefined],
    ['', undefined],
    ['+', undefined],
    ['1.0', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    [' 1', undefined],
    ['1\n', undefined],
    ['9'.repeat(100_000), undefined],
  ];
  for (const [text, want] of rows) t.equal(parseInt64(text), want, JSON.stringify(text.slice(0, 30)));
  t.end();
});
