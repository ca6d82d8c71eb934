/** A separate cluster on each older release of Node.js that the programs support. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { eventually, root, run, startTestCluster } from '#test/e2e/harness.js';

t.setTimeout(300_000);

const folder = join(root, '.tools', 'nodes');
const versions = existsSync(folder) ? readdirSync(folder).sort() : [];

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'example/web:1' }] },
    },
  },
};

for (const major of ['22', '24']) {
  const version = versions.find((each) => each.startsWith(`${major}.`));
  const skip = version === undefined ? `Node.js ${major} could not be brought` : false;
  t.test(`Node.js ${major}`, { skip, timeout: 240_000 }, async (t) => {
    const node = join(folder, version ?? '');
    const cluster = await startTestCluster({ node, store: 'memory', dialect: 'kubernetes' });
    t.teardown(() => cluster.destroy());
    const ctl = (args: readonly string[], input = '') =>
      run(node, [join(root, 'dist', 'bundle', 'orchctl', 'main.js'), ...args], {
        env: { ORCHCONFIG: cluster.config },
        input,
      });
    const metrics = await ctl(['get', '--raw', '/metrics']);
    t.match(metrics.stdout, new RegExp(`^nodejs_version_info\\{version="v${version}"`, 'm'), metrics.stderr);
    const applied = await ctl(['apply', '-f', '-'], JSON.stringify(deployment));
    t.equal(applied.code, 0, applied.stderr);
    await eventually('both pods are available', async () => {
      const { stdout, stderr } = await ctl(['get', 'deployment', 'web', '-o', 'json']);
      if (!/"availableReplicas":\s*2\b/.test(stdout)) throw new Error(`${stdout}${stderr}`);
      return true;
    });
    const { code, stdout, stderr } = await cluster.down();
    t.equal(code, 0, `${stdout}${stderr}`);
  });
}
