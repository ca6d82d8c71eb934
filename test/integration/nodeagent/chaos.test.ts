/**
 * In-memory chaos. `SEED` repeats a run, `CHAOS_SECONDS` runs new seeds for that time; `make soak` runs ten minutes.
 */
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { chaos } from '#test/integration/nodeagent/chaos/chaos.js';

const seconds = Number(process.env['CHAOS_SECONDS'] ?? 5);
const seedText = process.env['SEED'];
const first = Number(seedText ?? Math.floor(Math.random() * 2 ** 31));
t.setTimeout(seconds * 1000 + 120_000);

t.test('under random faults of an agent and its runtime, pods converge and no status is false', async (t) => {
  const endMs = realClock.monotonic() + seconds * 1000;
  const total = { pods: 0, runs: 0, kills: 0, faults: 0 };
  let seed = first;
  do {
    const { problems, counts } = await chaos({ random: seededRandom(seed), durationMs: 300_000 });
    for (const what of Object.keys(total) as (keyof typeof total)[]) total[what] += counts[what];
    if (problems.length > 0) {
      t.same(problems, [], `SEED=${seed}`);
      break;
    }
    seed++;
  } while (seedText === undefined && realClock.monotonic() < endMs);
  t.comment(`SEED=${first} to ${seed}: ${JSON.stringify(total)}`);
  t.ok(total.runs > 0 && total.faults > 0, 'something has happened');
});
