/** What happens to pods from their creation to their end, on real containers of one cluster. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import { whyNoContainers } from '#cluster/machine/preflight.js';
import { ownRanges, rangeArguments, startTestCluster } from '#test/e2e/harness.js';
import type { Bench } from '#test/e2e/lifecycle/bench.js';
import { apiAccess, limits, variables, volumeUpdates } from '#test/e2e/lifecycle/configuration.js';
import { endings, initialisation } from '#test/e2e/lifecycle/course.js';
import { crashes, images, liveness, restarts, slowPods } from '#test/e2e/lifecycle/failures.js';
import { readiness, rollback } from '#test/e2e/lifecycle/service.js';
import { sets } from '#test/e2e/lifecycle/sets.js';
import { storage } from '#test/e2e/lifecycle/storage.js';
import { adminClient, openRuntime } from '#test/e2e/observe.js';
import { StatusHistory } from '#test/e2e/status-history.js';

const noContainers = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 });
const skip = noContainers === undefined ? false : `${noContainers}: these need real ones`;
t.setTimeout(300_000);

t.test('pods', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'oe2e-host-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const args = rangeArguments(await ownRanges());
  const cluster = await startTestCluster({ runtime: 'containerd', args });
  t.teardown(() => cluster.destroy());
  const client = await adminClient(cluster);
  t.teardown(() => client.close());
  const cri = openRuntime(cluster.dataDir);
  t.teardown(() => cri.close());
  const history = new StatusHistory(client);
  t.teardown(() => history.stop());
  const bench: Bench = { cluster, client, cri, history, folder };
  // Slow pods start first and run during the other tests.
  for (const one of slowPods()) await client.resource(pods).create(one);
  await t.test('end on time and on request', (t) => endings(t, bench));
  await t.test('initialise in order', (t) => initialisation(t, bench));
  await t.test('take configuration from variables', (t) => variables(t, bench));
  await t.test('see updates of their volumes', (t) => volumeUpdates(t, bench));
  await t.test('reach the API with their token', (t) => apiAccess(t, bench));
  await t.test('respect their resource limits', (t) => limits(t, bench));
  await t.test('serve while they are ready', (t) => readiness(t, bench));
  await t.test('are rolled back', (t) => rollback(t, bench));
  await t.test('belong to sets', (t) => sets(t, bench));
  await t.test('get storage for their claims', (t) => storage(t, bench));
  await t.test('restart by their policy', (t) => restarts(t, bench));
  await t.test('are restarted when they are not alive', (t) => liveness(t, bench));
  await t.test('back off after crashes', (t) => crashes(t, bench));
  await t.test('wait for images', (t) => images(t, bench));
});
