/** A few seconds of the unlimited run of `make fuzz`. */
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { fuzzCost } from '#test/fuzz/cost/cost.js';

t.setTimeout(240_000);

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);

t.test('doubling a request at most doubles its cost', { timeout: 240_000 }, async (t) => {
  const { inputs, compared, longest, longestOf } = await fuzzCost({ seed, milliseconds: 8000, clock: realClock });
  t.comment(`${inputs} shapes, ${compared} compared, longest turn ${longest.toFixed(0)} ms (${longestOf})`);
  t.ok(inputs > 30);
});
