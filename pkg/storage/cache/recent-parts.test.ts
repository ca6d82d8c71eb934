import t from 'tap';
import { RecentParts } from '#storage/cache/byte-keeper.js';

t.test('the same description for the same places', (t) => {
  const recent = new RecentParts();
  const ranges = [10, 20, 30, 45];
  const parts = recent.of({ ranges, length: 50 });
  t.same(parts, { ranges: [10, 20, 30, 45], length: 50 });
  ranges[3] = 46;
  t.same(parts.ranges, [10, 20, 30, 45], 'which does not change with what it was made of');
  t.equal(recent.of({ ranges: [10, 20, 30, 45], length: 50 }), parts);
  t.end();
});

t.test('another one for other places', (t) => {
  const recent = new RecentParts();
  const parts = recent.of({ ranges: [10, 20, 30, 45], length: 50 });
  for (const other of [
    { ranges: [10, 20, 30, 46], length: 50 },
    { ranges: [10, 20], length: 50 },
    { ranges: [], length: 50 },
    { ranges: [10, 20, 30, 45], length: 51 },
  ]) {
    t.same(recent.of(other), other);
    t.not(recent.of(other), parts);
  }
  t.end();
});

t.test('of however many places', (t) => {
  const recent = new RecentParts();
  for (let n = 0; n < 10_000; n++) {
    const parts = recent.of({ ranges: [n, n + 7], length: 2 * n });
    if (parts.ranges[0] !== n || parts.length !== 2 * n) t.fail(`those of ${n} are ${JSON.stringify(parts)}`);
  }
  t.end();
});
