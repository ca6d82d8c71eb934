/** Several seconds of requests that exceed the rights of their accounts. */
import t from 'tap';
import { fuzzAccess } from '#test/fuzz/access/access.js';

t.setTimeout(240_000);

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));

t.test('no account gets more than its rights', async (t) => {
  t.comment(`SEED=${seed}`);
  const { problems, statuses, markersShown, changes } = await fuzzAccess({ seed, goOn: (sent) => sent < 1000 });
  t.same(problems, []);
  // The test is only meaningful if enough requests succeeded.
  for (const status of [200, 403, 404]) t.ok(statuses.has(status), `${status} is among the answers`);
  t.ok(markersShown > 20, `${markersShown} markers shown`);
  t.ok(changes > 0, `${changes} changes`);
});
