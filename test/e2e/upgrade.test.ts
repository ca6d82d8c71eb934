/** An upgrade replaces the running programs, and containers go on. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { whyNoContainers } from '#cluster/machine/preflight.js';
import { ownRanges, type RunResult, rangeArguments, root, run, startTestCluster } from '#test/e2e/harness.js';
import { killCluster } from '#test/e2e/kill.js';
import { ownStore } from '#test/e2e/own-store.js';
import { pod, shell, sleeper, untilPodReady } from '#test/e2e/pods.js';

t.setTimeout(300_000);

const bundle = join(root, 'dist', 'bundle');
const skip =
  whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 }) ??
  (existsSync(bundle) ? false : 'the programs are not bundled');

/** A release as `make dist` packs it, of another commit. */
function release(folder: string, commit: string): string {
  mkdirSync(join(folder, 'dist'), { recursive: true });
  for (const name of ['bin', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true });
  cpSync(bundle, join(folder, 'dist', 'bundle'), { recursive: true });
  if (existsSync(join(root, '.tools'))) symlinkSync(join(root, '.tools'), join(folder, '.tools'));
  const build = JSON.parse(readFileSync(join(root, 'dist', 'build.json'), 'utf8')) as Record<string, string>;
  writeFileSync(join(folder, 'dist', 'build.json'), JSON.stringify({ ...build, gitCommit: commit }));
  return join(folder, 'bin', 'orch');
}

t.test('another release', { skip }, async (t) => {
  const folder = t.testdir();
  const next = release(join(folder, 'next'), 'feedbeef00');
  const broken = release(join(folder, 'broken'), 'badbadbad0');
  const chunks = join(folder, 'broken', 'dist', 'bundle', 'chunks');
  // Found missing when etcd and the container runtime have been taken over.
  for (const name of readdirSync(chunks)) if (name.startsWith('in-process-')) rmSync(join(chunks, name));

  const cluster = await startTestCluster({ runtime: 'containerd', args: rangeArguments(await ownRanges()) });
  t.teardown(() => cluster.destroy());
  const { dataDir } = cluster;
  const upgrade = (orch: string, ...args: string[]): Promise<RunResult> =>
    run(orch, ['upgrade', `--data-dir=${dataDir}`, ...args], { timeoutMs: 180_000 });
  const client: RestClient = connect(await loadKubeconfig(cluster.config, { clock, env: {} }), { dialect, clock });
  t.teardown(() => client.close());
  const commit = async () => (await client.request<{ gitCommit: string }>('GET', '/version')).gitCommit;
  await client.resource(pods).create(pod('stays', [shell(sleeper)]));
  await untilPodReady(client, 'stays');
  const container = async () => {
    const { status } = await client.resource(pods).get('stays', { namespace: 'default' });
    return status?.containerStatuses?.map(({ containerID, state }) => [containerID, state?.running?.startedAt]);
  };
  const [before, first] = [await container(), await commit()];

  await t.test('says what is in the way, and changes nothing', async (t) => {
    const checked = await upgrade(next, '--check');
    t.match(checked, {
      code: 0,
      stdout: /^From v1\.24\.0.* to v1\.24\.0 \(feedbeef\)\n.*\nNothing is in the way\.\n$/,
    });
    const store = ownStore(dataDir);
    t.teardown(() => store.close());
    const key = '/registry/configmaps/default/torn';
    const { revision } = await store.create(key, Buffer.from('{"kind":'));
    const refused = await upgrade(next);
    t.match(refused, { code: 1, stdout: /✗ v1\.24\.0 cannot read \/registry\/configmaps\/default\/torn/ });
    await store.delete(key, revision);
    t.equal(await commit(), first);
  });

  await t.test('one server at a time', async (t) => {
    const namespace = dialect.namespaces.system;
    const spec = { holderIdentity: 'other', leaseDurationSeconds: 60, renewTime: '2999-01-01T00:00:00.000000Z' };
    await client.resource(leases).create({ metadata: { name: 'orch-upgrade', namespace }, spec });
    t.match(await upgrade(next), { code: 1, stderr: /server other is being upgraded/ });
    await client.resource(leases).delete('orch-upgrade', { namespace });
    t.equal(await commit(), first);
  });

  await t.test('takes its place, and the containers are the same', async (t) => {
    const { code, stdout, stderr } = await upgrade(next, `--backup-to=${join(folder, 'backups')}`);
    t.equal(code, 0, stderr);
    t.match(stdout, /backup saved[\s\S]*pods left running[\s\S]*Done\. To go back.*--rollback/);
    t.equal(readdirSync(join(folder, 'backups')).length, 1);
    t.equal(await commit(), 'feedbeef00');
    t.same(await container(), before);
  });

  await t.test('programs that do not start make way for those of before', async (t) => {
    t.match(await upgrade(broken, '--backup=false'), { code: 1, stderr: /The former programs are running again\.\n$/ });
    t.equal(await commit(), 'feedbeef00');
    t.same(await container(), before);
  });

  await t.test('and back', async (t) => {
    t.match(await upgrade(join(root, 'bin', 'orch'), '--rollback', '--backup=false'), { code: 0 });
    t.equal(await commit(), first);
    t.same(await container(), before);
    t.match((await cluster.ctl('exec', 'stays', '--', 'echo', 'alive')).stdout, 'alive');
  });

  await t.test('a start that fails leaves the containers of a killed run', async (t) => {
    await killCluster(dataDir);
    const failed = await run(broken, ['up', '--detach', `--data-dir=${dataDir}`], { timeoutMs: 180_000 });
    t.match(failed, { code: 1, stderr: /in-process/ }, 'the programs do not start');
    await cluster.up();
    t.same(await container(), before, 'the next start takes the containers over');
  });
});
