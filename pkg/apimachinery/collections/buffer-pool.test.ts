import t from 'tap';
import { BufferPool } from '#apimachinery/collections/buffer-pool.js';

t.test('returned buffers are reused by size, up to the limit', async (t) => {
  const pool = new BufferPool([
    { bytes: 10, maxSpare: 1 },
    { bytes: 100, maxSpare: 2 },
  ]);
  const small = [pool.take(1), pool.take(10)];
  const large = [pool.take(11), pool.take(100), pool.take(50)];
  t.same(
    [...small, ...large].map(({ length }) => length),
    [10, 10, 100, 100, 100],
  );
  for (const buffer of [...small, ...large]) pool.give(buffer);
  t.equal(pool.take(5), small[0]);
  t.not(pool.take(5), small[1]);
  t.same(
    [pool.take(20), pool.take(20)].map((buffer) => large.indexOf(buffer)),
    [1, 0],
  );
  t.not(pool.take(20), large[2]);
});

t.test('too large requests are refused, and buffers of other sizes are dropped', async (t) => {
  const pool = new BufferPool([{ bytes: 10, maxSpare: 1 }]);
  t.throws(() => pool.take(11), RangeError);
  pool.give(Buffer.alloc(7));
  t.equal(pool.take(7).length, 10);
});
