import t from 'tap';
import { formatWork, listWork, writeWork } from '#apiserver/flowcontrol/work.js';

t.test('lists take a seat for each hundred objects, as in 1.24', async (t) => {
  const rows: readonly (readonly [query: string, stored: number | undefined, seats: number, why: string])[] = [
    ['', 0, 1, 'at least one'],
    ['', 399, 8, 'from the store: read and returned'],
    ['', 100_000, 10, 'at most ten'],
    ['resourceVersion=0', 399, 4, 'from the cache'],
    ['resourceVersion=0&limit=100', 399, 4, 'the cache ignores the limit'],
    ['resourceVersion=5&limit=100', 399, 2, 'a limit reads from the store'],
    ['limit=100', 399, 2, 'a page'],
    ['limit=100&labelSelector=a', 399, 5, 'a selector reads everything'],
    ['limit=500', 399, 8, 'a limit above the number'],
    ['resourceVersion=5&resourceVersionMatch=Exact', 399, 8, 'an exact version'],
    ['continue=abc&resourceVersion=', 100, 2, 'the next page'],
    ['limit=x', 399, 10, 'will be refused'],
    ['', undefined, 1, 'served elsewhere'],
  ];
  for (const [query, stored, seats, why] of rows) {
    const work = listWork({ name: '', query: new URLSearchParams(query), stored });
    t.strictSame(work, { initialSeats: seats, finalSeats: 0, lingerMs: 0 }, `${query} ${stored}: ${why}`);
  }
  t.equal(listWork({ name: 'a', query: new URLSearchParams(), stored: 5000 }).initialSeats, 1, 'a selected name');
});

t.test('writes keep seats for their watches, as in 1.24', async (t) => {
  t.strictSame(writeWork(9), { initialSeats: 1, finalSeats: 0, lingerMs: 0 }, 'few watches');
  t.strictSame(writeWork(10), { initialSeats: 1, finalSeats: 1, lingerMs: 5 }, 'ten');
  t.strictSame(writeWork(95), { initialSeats: 1, finalSeats: 10, lingerMs: 5 }, 'a seat per ten');
  t.strictSame(writeWork(1000), { initialSeats: 1, finalSeats: 10, lingerMs: 50 }, 'at most ten seats, for longer');
});

t.test('work is printed as 1.24 prints it', async (t) => {
  t.equal(formatWork(0), '0.00000000ss', 'none');
  t.equal(formatWork(150_000_001), '1.50000001ss', 'some');
  t.equal(formatWork(300_000), '0.00300000ss', 'one seat for three milliseconds');
});
