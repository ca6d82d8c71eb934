import t from 'tap';
import { allWithin } from '#controllers/framework/bounded-concurrency.js';

const numbers = Array.from({ length: 20 }, (_, i) => i);

t.test('all calls run with limited concurrency, and results are in order', async (t) => {
  let running = 0;
  let most = 0;
  const doubled = await allWithin(numbers, 3, async (n) => {
    running++;
    most = Math.max(most, running);
    for (let i = 0; i < n % 4; i++) await Promise.resolve();
    running--;
    return 2 * n;
  });
  t.same(
    doubled,
    numbers.map((n) => 2 * n),
  );
  t.equal(most, 3);
  t.same(await allWithin([], 3, async () => 1), []);
});

t.test('no call starts after a failure', async (t) => {
  const begun: number[] = [];
  const work = async (n: number) => {
    begun.push(n);
    await Promise.resolve();
    if (n === 4) throw new Error('four');
  };
  await t.rejects(allWithin(numbers, 2, work), { message: 'four' });
  await Promise.resolve();
  t.ok(begun.length < 8, `${begun}`);
});
