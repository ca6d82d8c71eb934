import t from 'tap';
import { RecentParts } from '#storage/stored-parts.js';

t.test('the same description for the same places', (t) => {
  const recent = new RecentParts();
  const ranges = [10, 20, 30, 45];
  const parts = recent.of(ranges, 1, 50);
  t.same(parts, { ranges: [10, 20, 30, 45], fieldSets: 1, length: 50 });
  ranges[3] = 46;
  t.same(parts.ranges, [10, 20, 30, 45], 'which does not change with the array that it was made of');
  t.equal(recent.of([10, 20, 30, 45], 1, 50), parts);
  t.end();
});

t.test('another one for other places', (t) => {
  const recent = new RecentParts();
  const parts = recent.of([10, 20, 30, 45], 1, 50);
  for (const [ranges, fieldSets, length] of [
    [[10, 20, 30, 46], 1, 50],
    [[10, 20], 1, 50],
    [[], 1, 50],
    [[10, 20, 30, 45], 2, 50],
    [[10, 20, 30, 45], 1, 51],
  ] as const) {
    t.same(recent.of(ranges, fieldSets, length), { ranges, fieldSets, length });
    t.not(recent.of(ranges, fieldSets, length), parts);
  }
  t.end();
});

t.test('of however many places', (t) => {
  const recent = new RecentParts();
  for (let n = 0; n < 10_000; n++) {
    const parts = recent.of([n, n + 7], 0, 2 * n);
    if (parts.ranges[0] !== n || parts.length !== 2 * n) t.fail(`those of ${n} are ${JSON.stringify(parts)}`);
  }
  t.end();
});
