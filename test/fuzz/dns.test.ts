/** A second of the unlimited run of `make fuzz` for the DNS server. */
import t from 'tap';
import { fuzzDns } from '#test/fuzz/dns.js';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
t.test('queries of broken clients and answers of broken resolvers', async (t) => {
  t.comment(`SEED=${seed}`);
  const { inputs, refused } = fuzzDns(seed, (count) => count < 20_000);
  t.ok(refused > 1000 && refused < inputs, `${refused} of ${inputs} are refused`);
});
