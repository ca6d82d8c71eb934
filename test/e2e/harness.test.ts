/** The facts that the harness gives tests about their clusters. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { layoutOf } from '#cluster/config/layout.js';
import { startTestCluster } from '#test/e2e/harness.js';

t.setTimeout(300_000);

t.test('a cluster that cannot be removed says why, and keeps its data', async (t) => {
  const cluster = await startTestCluster({ store: 'memory' });
  const { settings } = layoutOf(cluster.dataDir);
  const text = readFileSync(settings, 'utf8');
  t.teardown(() => cluster.destroy());
  writeFileSync(settings, '{');
  try {
    await t.rejects(cluster.destroy(), { message: /orch down --delete .* ended with [1-9]\d*\n(.*\n)*.*JSON/ });
    t.ok(existsSync(settings));
  } finally {
    writeFileSync(settings, text);
  }
  await cluster.destroy();
  t.notOk(existsSync(cluster.dataDir));
});

t.test('a cluster that does not come up says why, and leaves nothing', async (t) => {
  const error = await startTestCluster({ store: 'memory', args: ['--no-such-option'] }).catch(
    (error: unknown) => error,
  );
  t.match(error, { message: /^orch up .* ended with [1-9]\d*\n(.*\n)*.*no-such-option/ });
  const [, dataDir = ''] = /--data-dir=(\S+)/.exec(String(error)) ?? [];
  t.not(dataDir, '');
  t.notOk(existsSync(dataDir));
});
