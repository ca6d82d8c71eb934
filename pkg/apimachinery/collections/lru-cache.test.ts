import t from 'tap';
import type { Clock } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';

t.test('keeps the most recently used entries', async (t) => {
  const evicted: number[] = [];
  const cache = new LruCache<string, number>({ limit: 2, onEvict: (value) => evicted.push(value) });
  cache.set('a', 1);
  cache.set('b', 2);
  cache.get('a');
  cache.set('c', 3);
  t.same(
    ['a', 'b', 'c'].map((key) => cache.get(key)),
    [1, undefined, 3],
  );
  t.same(evicted, [2]);
  cache.set('c', 4);
  t.equal(cache.get('c'), 4);
  t.equal(cache.size, 2);
  t.same(evicted, [2], 'what is replaced was not evicted');
});

t.test('expires old entries', async (t) => {
  let now = 0;
  const clock = { monotonic: () => now } as Clock;
  const cache = new LruCache<string, number>({ limit: 10, age: { clock, ttlMs: (value) => value } });
  cache.set('long', 20);
  cache.set('short', 10);
  cache.set('never', 0);
  t.equal(cache.get('never'), undefined);
  now = 10;
  t.same([cache.get('long'), cache.get('short')], [20, undefined]);
  t.equal(cache.size, 1);
  cache.set('long', 0);
  t.equal(cache.get('long'), undefined, 'a newer value that is not kept replaces the older one');
});
