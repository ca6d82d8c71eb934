import t from 'tap';
import { Backoff, exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { TokenBucket } from '#client/token-bucket.js';

t.test('allows a burst, then the rate', async (t) => {
  const clock = new VirtualClock();
  const bucket = new TokenBucket({ qps: 10, burst: 3, clock });
  t.same(
    Array.from({ length: 5 }, () => Math.round(bucket.reserveMs())),
    [0, 0, 0, 100, 200],
  );
  await clock.advance(1000);
  t.equal(bucket.reserveMs(), 0);
});

t.test('an aborted caller returns its token', async (t) => {
  const clock = new VirtualClock();
  const bucket = new TokenBucket({ qps: 1, burst: 1, clock });
  await bucket.take();
  const stop = new AbortController();
  const waiting = bucket.take(stop.signal);
  stop.abort(new Error('stopped'));
  await t.rejects(waiting, { message: 'stopped' });
  t.equal(Math.round(bucket.reserveMs()), 1000);
  t.equal(new TokenBucket({ qps: 0, burst: 0, clock }).reserveMs(), 0, 'no limit');
});

t.test('an available token is taken without waiting', async (t) => {
  const clock = new VirtualClock();
  const bucket = new TokenBucket({ qps: 2, burst: 1, clock });
  t.equal(bucket.tryTake(), true);
  t.equal(bucket.tryTake(), false);
  await clock.advance(500);
  t.equal(bucket.tryTake(), true, 'a refused attempt costs no token');
});

t.test('back-off grows, is capped, jittered and reset', async (t) => {
  t.equal(exponentialDelayMs(5000, 1, 30_000), 30_000);
  const backoff = new Backoff({ initialMs: 800, maxMs: 30_000, jitter: 1, random: () => 0.5 });
  t.same(
    Array.from({ length: 7 }, () => backoff.nextMs()),
    [1200, 2400, 4800, 9600, 19_200, 38_400, 45_000],
  );
  backoff.reset();
  t.equal(backoff.nextMs(), 1200);
});
