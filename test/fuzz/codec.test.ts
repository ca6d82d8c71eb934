/** A few seconds of the unlimited run of `make fuzz`. */
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { fuzz } from '#test/fuzz/codec.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);

for (const format of ['json', 'protobuf'] as const) {
  t.test(`broken ${format} is refused, or is an object`, async (t) => {
    const { inputs, refused } = fuzz({ format, seed, milliseconds: 2000, clock: realClock });
    t.not(refused, 0);
    t.not(inputs, refused, 'some inputs are objects');
  });
}
