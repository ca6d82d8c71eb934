import t from 'tap';
import { Liveness } from '#apiserver/workers/liveness.js';

t.test('a worker without heartbeats is stuck, unless the machine was suspended', async (t) => {
  const liveness = new Liveness({ stuckMs: 5000, periodMs: 500 });
  const check = (nowMs: number, one: number, other: number) =>
    liveness.check(
      new Map([
        [1, one],
        [2, other],
      ]),
      nowMs,
    );
  for (let nowMs = 0; nowMs < 5000; nowMs += 500) t.same(check(nowMs, 7, nowMs), [], `${nowMs}`);
  t.same(check(5000, 7, 5000), [1]);
  t.same(check(5500, 8, 5500), [], 'it beats again');
  t.same(check(15_500, 8, 5500), [], 'the machine was suspended');
  for (let nowMs = 16_000; nowMs < 20_500; nowMs += 500) t.same(check(nowMs, 8, nowMs), []);
  t.same(check(20_500, 8, 20_500), [1]);
  t.same(liveness.check(new Map([[2, 1]]), 21_000), [], 'workers that have ended are forgotten');
  t.same(check(21_500, 8, 2), []);
});
