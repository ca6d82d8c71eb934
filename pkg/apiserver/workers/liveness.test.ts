import t from 'tap';
import { Liveness } from '#apiserver/workers/liveness.js';

t.test('who does not beat is held, unless nobody could', async (t) => {
  const liveness = new Liveness({ heldMs: 5000, periodMs: 500 });
  const look = (nowMs: number, one: number, other: number) =>
    liveness.look(
      new Map([
        [1, one],
        [2, other],
      ]),
      nowMs,
    );
  for (let nowMs = 0; nowMs < 5000; nowMs += 500) t.same(look(nowMs, 7, nowMs), [], `${nowMs}`);
  t.same(look(5000, 7, 5000), [1]);
  t.same(look(5500, 8, 5500), [], 'it went on');
  t.same(look(15_500, 8, 5500), [], 'the machine slept');
  for (let nowMs = 16_000; nowMs < 20_500; nowMs += 500) t.same(look(nowMs, 8, nowMs), []);
  t.same(look(20_500, 8, 20_500), [1]);
  t.same(liveness.look(new Map([[2, 1]]), 21_000), [], 'those who are gone are forgotten');
  t.same(look(21_500, 8, 2), []);
});
