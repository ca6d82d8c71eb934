import t from 'tap';
import { KeyedBackoff } from '#apimachinery/backoff/keyed-backoff.js';

t.test('delays double, and expire without events', async (t) => {
  let now = 1_000_000;
  const backOff = new KeyedBackoff({ initialMs: 10, maxMs: 40, now: () => now });
  t.equal(backOff.waitUntil('a', now), 0);
  for (const delay of [10, 20, 40, 40]) {
    backOff.next('a', now);
    t.equal(backOff.delay('a'), delay);
    t.equal(backOff.waitUntil('a', now), now + delay);
  }
  now += 81;
  t.equal(backOff.waitUntil('a', now), 0);
});

t.test('a clock that is set back causes no wait', async (t) => {
  let now = 1_000_000;
  const backOff = new KeyedBackoff({ initialMs: 10, maxMs: 40, now: () => now });
  const failedAt = now;
  backOff.next('a', failedAt);
  now -= 3_600_000;
  t.equal(backOff.waitUntil('a', failedAt), 0);
  backOff.next('a', now);
  t.equal(backOff.waitUntil('a', now), now + 20);
});
