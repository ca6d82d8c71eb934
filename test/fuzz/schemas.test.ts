/** A second of what `make fuzz` does to schemas for as long as one likes. */
import t from 'tap';
import { fuzzSchemas } from '#test/fuzz/schemas.js';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
t.test('validation agrees with a reference validator', async (t) => {
  t.comment(`SEED=${seed}`);
  const { inputs, fitting } = fuzzSchemas(seed, (count) => count < 6000);
  t.ok(fitting > inputs / 10 && fitting < (inputs * 9) / 10, `${fitting} of ${inputs} fit`);
});
