import t from 'tap';
import { KeyedHeap } from '#apimachinery/collections/keyed-heap.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

interface Item {
  key: string;
  rank: number;
}

t.test('behaves like a sorted list under random operations', async (t) => {
  const seed = Number(process.env['SEED'] ?? 7);
  t.comment(`seed ${seed}`);
  const random = seededRandom(seed);
  const heap = new KeyedHeap<Item>({ keyOf: (i) => i.key, before: (a, b) => a.rank < b.rank });
  const twin = new Map<string, number>();
  for (let i = 0; i < 5000; i++) {
    const key = `k${Math.floor(random() * 60)}`;
    const choice = random();
    if (choice < 0.6) {
      const rank = random();
      heap.push({ key, rank });
      twin.set(key, rank);
    } else if (choice < 0.8) {
      if (heap.remove(key)?.rank !== twin.get(key)) t.fail(`remove ${key} at step ${i}`);
      twin.delete(key);
    } else {
      const popped = heap.pop();
      const least = [...twin].sort((a, b) => a[1] - b[1])[0];
      if (popped?.key !== least?.[0]) t.fail(`pop at step ${i}`);
      if (popped !== undefined) twin.delete(popped.key);
    }
    if (heap.size !== twin.size) t.fail(`size at step ${i}`);
  }
  t.pass('5000 operations');
});
