/** Some inputs of the unlimited run of `make fuzz`. */
import t from 'tap';
import { fuzzSpdy } from '#test/fuzz/spdy/spdy.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));

t.test('broken SPDY frames end sessions properly in any chunks', async (t) => {
  t.comment(`SEED=${seed}`);
  const { streams, refused } = await fuzzSpdy(seed, (inputs) => inputs < 50);
  t.not(streams, 0, 'some streams are opened');
  t.not(refused, 0, 'some connections are refused');
});
