/** Error messages and exit codes of `orch` for impossible commands. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { layoutOf } from '#cluster/config/layout.js';
import { whyNoContainers } from '#cluster/machine/preflight.js';
import { noSmallDisks } from '#nodeagent/testing/small-disk.js';
import { ownRanges, rangeArguments, root, run, startTestCluster } from '#test/e2e/harness.js';

t.setTimeout(240_000);
const orch = join(root, 'bin', 'orch');
const noContainers = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 }) ?? false;

async function succeeds(command: string, ...args: string[]): Promise<void> {
  const { code, stderr } = await run(command, args);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
}

t.test('a range that another interface of the host has', { skip: noContainers }, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'oe2e-'));
  t.teardown(() => rmSync(dataDir, { recursive: true }));
  const ranges = await ownRanges();
  const link = `tb${Math.floor(Math.random() * 2 ** 32).toString(16)}`;
  await succeeds('ip', 'link', 'add', link, 'type', 'bridge');
  t.teardown(() => succeeds('ip', 'link', 'delete', link));
  for (const [option, address] of [
    ['--cluster-cidr', `${ranges[1]}77.1/24`],
    ['--service-cluster-ip-range', `${ranges[0]}77.1/24`],
  ] as const) {
    await succeeds('ip', 'address', 'replace', address, 'dev', link);
    const args = ['up', '--detach', '--runtime=containerd', `--data-dir=${dataDir}`, ...rangeArguments(ranges)];
    const { code, stdout, stderr } = await run(orch, args);
    t.equal(code, 1);
    const range = rangeArguments(ranges)
      .find((arg) => arg.startsWith(option))
      ?.replace('=', ' ');
    const said = `orch up: ${range} overlaps the network of interface ${link} of this machine (${address}); give a free one, for example ${option}=`;
    t.equal(stderr.slice(0, said.length), said);
    t.notMatch(stdout, /Starting/);
    t.notOk(existsSync(layoutOf(dataDir).settings), 'nothing is settled yet');
    await succeeds('ip', 'address', 'delete', address, 'dev', link);
  }
});

t.test('a way down on which something cannot be removed', { skip: noSmallDisks }, async (t) => {
  const cluster = await startTestCluster({ store: 'memory' });
  t.teardown(() => cluster.destroy());
  const layout = layoutOf(cluster.dataDir);
  const busy = join(layout.run, 'busy');
  mkdirSync(busy);
  await succeeds('mount', '-t', 'tmpfs', 'tmpfs', busy);
  const mounted = { is: true };
  const release = async () => {
    if (mounted.is) await succeeds('umount', busy);
    mounted.is = false;
  };
  t.teardown(release);
  const args = ['down', '--delete', `--data-dir=${cluster.dataDir}`];
  const first = await run(orch, args);
  t.equal(first.code, 1);
  t.match(first.stdout, /✓ cluster stopped/, 'what can be stopped is stopped');
  t.notMatch(first.stdout, /✓ (nothing left running|data removed)/);
  const said = `
These parts of the cluster remain, and its data is kept:
  other processes: EBUSY: resource busy or locked, rmdir '${busy}'
Fix the cause and run this again: orch ${args.join(' ')}
`;
  t.equal(first.stderr, said);
  t.ok(existsSync(layout.settings));

  await release();
  const second = await run(orch, args);
  t.same([second.code, second.stderr], [0, '']);
  t.notOk(existsSync(cluster.dataDir));
});
