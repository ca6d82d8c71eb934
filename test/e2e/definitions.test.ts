/** A cluster with custom resource definitions: an operator written with a public library, and every kubectl. */
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { DialectName } from '#apimachinery/dialect.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { kubectlScenario } from '#test/e2e/extending/kubectl-scenario.js';
import { operatorScenario } from '#test/e2e/extending/operator-scenario.js';
import { kubectls } from '#test/e2e/harness.js';

t.setTimeout(600_000);

async function start(t: Pick<Test, 'teardown'>, dialect: DialectName) {
  const cluster = await startCluster({ dialect, listen: true });
  t.teardown(() => cluster.close());
  const folder = await mkdtemp(join(tmpdir(), 'definitions-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const config = join(folder, 'client.config');
  writeFileSync(config, cluster.kubeconfig());
  return { client: cluster.client, config, folder };
}

const programs = await kubectls();
for (const dialect of ['kubernetes', 'orch'] as const) {
  t.test(`${dialect} dialect`, async (t) => {
    const cluster = await start(t, dialect);
    await t.test('an operator', (t) => operatorScenario(t, cluster));
    // Differences between kubectls do not depend on the dialect.
    for (const kubectl of dialect === 'kubernetes' ? programs : programs.slice(-1)) {
      await t.test(kubectl, (t) => kubectlScenario(t, kubectl, cluster));
    }
    if (programs.length === 0) t.pass('no kubectl on this machine: nothing to try', { skip: true });
  });
}
