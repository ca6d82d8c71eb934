/**
 * Random histories never over-commit a node or bind a pod twice, and in the end every pod that fits is bound, if necessary
 * in place of less important pods. `SEED` reproduces a run; `HISTORY_SECONDS` makes it longer.
 */
import t from 'tap';
import { runHistory } from '#test/integration/scheduler/history.js';

/** Duration of a history. */
const forMs = 1000 * Number(process.env['HISTORY_SECONDS'] ?? 15);
const settleMs = 120_000;
t.setTimeout(forMs + 3 * settleMs);

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

// The test name contains the seed, so that failure reports show it.
t.test(`a random history with two schedulers that are killed, ended and frozen, SEED=${seed}`, async (t) => {
  const { findings, log, ...counts } = await runHistory(t, { seed, forMs, settleMs });
  t.comment(JSON.stringify(counts));
  t.same(findings, []);
  t.ok(counts.bindings > 0 && counts.evictions > 0);
  t.equal(counts.happened['all schedulers are killed'], 1);
  if (!t.passing()) t.comment(log.slice(-5000));
});
