import t from 'tap';
import { Backoff, exponentialDelayMs, jittered, spreadAround } from '#apimachinery/backoff/backoff.js';

t.test('delays double up to the maximum and start over after a success', async (t) => {
  const backoff = new Backoff({ initialMs: 100, maxMs: 500 });
  t.same(
    [1, 2, 3, 4, 5].map(() => backoff.nextMs()),
    [100, 200, 400, 500, 500],
  );
  t.equal(backoff.failures, 5);
  backoff.reset();
  t.equal(backoff.nextMs(), 100);
});

t.test('the delay is finite for any number of failures', async (t) => {
  t.equal(exponentialDelayMs(5000, 100, 500), 500);
  t.equal(exponentialDelayMs(3, 10, 1000, 3), 270);
});

t.test('jitter only lengthens delays, spread also shortens them', async (t) => {
  t.same(
    [0, 0.5].map((part) => jittered(100, 1, () => part)),
    [100, 150],
  );
  t.same(
    [0, 0.5, 1].map((part) => spreadAround(100, 0.5, () => part)),
    [50, 100, 150],
  );
  const options = { initialMs: 100, maxMs: 500, random: () => 0.75 };
  t.equal(new Backoff(options).nextMs(), 100);
  t.equal(new Backoff({ ...options, jitter: 1 }).nextMs(), 175);
  t.equal(new Backoff({ ...options, spread: 0.5 }).nextMs(), 125);
});
