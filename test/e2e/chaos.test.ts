/** Two minutes of chaos; `make soak` runs half an hour. `KEEP_LOGS` names a folder for the daemons' logs of a failed run. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { whyNoContainers } from '#cluster/machine/preflight.js';
import { chaos } from '#test/e2e/chaos/chaos.js';
import { Holdings, holdingArguments } from '#test/e2e/chaos/holdings/holdings.js';
import { ownRanges, rangeArguments, startTestCluster } from '#test/e2e/harness.js';
import { adminClient, openRuntime } from '#test/e2e/observe.js';

const durationMs = Number(process.env['CHAOS_SECONDS'] ?? 120) * 1000;
t.setTimeout(durationMs + 600_000);

const skip = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 }) ?? false;
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

t.test('pods survive faults of agent, runtime and API server', { skip }, async (t) => {
  t.comment(`SEED=${seed}`);
  const cluster = await startTestCluster({
    ...{ runtime: 'containerd', separate: true },
    args: [...rangeArguments(await ownRanges()), ...holdingArguments],
  });
  t.teardown(() => cluster.destroy());
  const client = await adminClient(cluster);
  t.teardown(() => client.close());
  const cri = openRuntime(cluster.dataDir);
  t.teardown(() => cri.close());
  const beganMs = realClock.monotonic();
  const tell = (what: string) => t.comment(`${Math.round((realClock.monotonic() - beganMs) / 1000)} s: ${what}`);
  const random = seededRandom(seed);
  const holdings = await Holdings.start({ dataDir: cluster.dataDir, client, random });
  t.teardown(() => holdings.stop());
  const options = { dataDir: cluster.dataDir, client, cri, holdings, random, durationMs, tell };
  const { problems, strikes, pods, runs } = await chaos(options);
  t.comment(`${strikes} strikes, ${pods} pods, ${runs} runs`);
  t.comment(JSON.stringify(holdings.counts));
  t.ok(strikes > 1 && runs > 1, 'something has happened');
  t.ok(holdings.counts.holders > 0 && holdings.counts.mounts > 0, 'pods have held something');
  if (problems.length > 0 && process.env['KEEP_LOGS'] !== undefined)
    cpSync(join(cluster.dataDir, 'logs'), process.env['KEEP_LOGS'], { recursive: true });
  t.same(problems, [], 'no violation');
});
