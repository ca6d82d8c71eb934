/**
 * No node is over-committed and no pod bound twice whatever happens, and in the end all that fits is bound, if need be in the
 * place of less important pods. `SEED` repeats the choices of a run; `HISTORY_SECONDS` makes it longer.
 */
import t from 'tap';
import { runHistory } from '#test/integration/scheduler/history.js';

/** How long things happen. */
const forMs = 1000 * Number(process.env['HISTORY_SECONDS'] ?? 15);
const settleMs = 120_000;
t.setTimeout(forMs + 3 * settleMs);

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

// The seed stands in the name, which every report of a failure has.
t.test(`a random history with two schedulers that are killed, ended and frozen, SEED=${seed}`, async (t) => {
  const { findings, log, ...counts } = await runHistory(t, { seed, forMs, settleMs });
  t.comment(JSON.stringify(counts));
  t.same(findings, []);
  t.ok(counts.bindings > 0 && counts.evictions > 0);
  t.equal(counts.happened['all schedulers are killed'], 1);
  if (!t.passing()) t.comment(log.slice(-5000));
});
