import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { SharedRead } from '#storage/etcd/connection.js';

/** Reads that end under the test's control. */
function slow() {
  const under: Deferred<number>[] = [];
  const shared = new SharedRead(() => {
    const reading = deferred<number>();
    under.push(reading);
    return reading.promise;
  });
  /** Waits until this many have begun. */
  const begun = async (count: number) => {
    while (under.length < count) await turn();
  };
  return { shared, under, begun };
}

void t.test('callers during a read share the next one', async (t) => {
  const { shared, under, begun } = slow();
  const first = [shared.read(), shared.read()];
  await begun(1);
  const late = shared.read();
  await turn();
  const laterRead = shared.read();
  for (let i = 0; i < 10; i++) await turn();
  t.equal(under.length, 1, 'one at a time');
  under[0]?.resolve(1);
  t.same(await Promise.all(first), [1, 1]);
  const last = shared.read();
  await begun(2);
  under[1]?.resolve(2);
  t.same(await Promise.all([late, laterRead, last]), [2, 2, 2]);
});

void t.test('its callers share a failure', async (t) => {
  const { shared, under, begun } = slow();
  const failing = [shared.read(), shared.read()];
  await begun(1);
  const next = shared.read();
  under[0]?.reject(new Error('no leader'));
  for (const read of failing) await t.rejects(read, { message: 'no leader' });
  await begun(2);
  under[1]?.resolve(7);
  t.equal(await next, 7);
});

void t.test('continuous callers do not delay a read', async (t) => {
  const { shared, under } = slow();
  const reads: Promise<number>[] = [];
  while (under.length === 0 && reads.length < 1000) {
    reads.push(shared.read());
    await turn();
  }
  t.ok(reads.length < 20, 'the read waits a few turns for more callers');
  under[0]?.resolve(1);
  t.equal(await reads[0], 1);
});

void t.test('no result is older than its call', async (t) => {
  const seed = Date.now() % 1_000_000;
  t.comment(`seed ${seed}`);
  const random = seededRandom(seed);
  let state = 0;
  const shared = new SharedRead(async () => {
    // The read returns a revision that is at least the current one at its start.
    for (let left = random() * 4; left > 1; left--) await turn();
    const answer = state;
    for (let left = random() * 4; left > 1; left--) await turn();
    return answer;
  });
  const checks: Promise<void>[] = [];
  let wrong = 0;
  for (let i = 0; i < 3000; i++) {
    state++;
    if (random() < 0.5) {
      const since = state;
      const check = shared.read().then((answer) => {
        if (answer < since) wrong++;
      });
      checks.push(check);
    }
    const pause = random();
    if (pause < 0.3) await turn();
    else if (pause < 0.5) await undefined;
  }
  await Promise.all(checks);
  t.equal(wrong, 0);
});
