/** Backups of a whole cluster: saved, verified, restored into another cluster, and scheduled. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { BackupManifest } from '#cluster/backup/contents.js';
import { layoutOf } from '#cluster/config/layout.js';
import { findProgram } from '#cluster/machine/preflight.js';
import { prefixEnd } from '#storage/sorted-map.js';
import type { KeyValue, Revision } from '#storage/store.js';
import { eventually, root, run, startTestCluster, type TestCluster } from '#test/e2e/harness.js';
import { ownStore } from '#test/e2e/own-store.js';

t.setTimeout(300_000);

const orch = join(root, 'bin', 'orch');
const path = process.env['PATH'] ?? '';
const hasTool = findProgram('etcdutl', path) !== undefined || findProgram('etcdctl', path) !== undefined;

async function succeeds(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(orch, args, { timeoutMs: 180_000 });
  if (code !== 0) throw new Error(`orch ${args.join(' ')} ended with ${code}\n${stdout}\n${stderr}`);
  return stdout;
}

/** All keys of a cluster's store, at a revision or now. */
async function contents(dataDir: string, revision?: Revision): Promise<{ kvs: KeyValue[]; revision: Revision }> {
  const store = ownStore(dataDir);
  try {
    const range = { start: '/registry/', end: prefixEnd('/registry/') };
    return await store.range(revision === undefined ? range : { ...range, revision });
  } finally {
    await store.close();
  }
}

t.test(
  'a cluster comes back out of its backup',
  { skip: !hasTool && 'etcdctl is missing (package etcd-client)' },
  async (t) => {
    const cluster = await startTestCluster();
    t.teardown(() => cluster.destroy());
    const { dataDir } = cluster;
    const folder = mkdtempSync(join(tmpdir(), 'oe2e-backups-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    for (let i = 0; i < 20; i++) await ctl(cluster, 'create', 'configmap', `kept-${i}`, `--from-literal=number=${i}`);
    const said = await succeeds('backup', 'save', `--data-dir=${dataDir}`, `--to=${folder}`);
    t.match(said, /backup saved \(\d+ objects, /);
    const saved = said.trim().split('\n').at(-1) ?? '';
    t.match(await succeeds('backup', 'verify', saved), /is complete/);
    t.match(await succeeds('backup', 'list', `--to=${folder}`), `${saved}  2`);
    t.same(readdirSync(saved).sort(), ['SHA256SUMS', 'backup.json', 'cluster.json', 'etcd.db', 'pki']);
    const { revision: savedAt } = JSON.parse(readManifest(saved)) as BackupManifest;
    const { kvs: before } = await contents(dataDir, BigInt(savedAt));
    await ctl(cluster, 'delete', 'configmap', 'kept-7');

    await t.test('a modified backup is refused', (t) => tampered(t, saved, folder));

    await t.test('a restore into the directory of a running cluster is refused', async (t) => {
      const { code, stderr } = await run(orch, ['backup', 'restore', saved, `--data-dir=${dataDir}`, '--replace']);
      t.equal(code, 1);
      t.match(stderr, /is running; stop it with: orch down/);
    });

    await t.test('the store shows its usage', async (t) => {
      t.match(
        await succeeds('etcd', 'usage', `--data-dir=${dataDir}`),
        /^\d+ objects[\s\S]*configmaps +\d+ [\s\S]*\ndefault +\d+ /,
      );
      t.match(JSON.parse(await succeeds('etcd', 'usage', `--data-dir=${dataDir}`, '-o', 'json')), {
        total: { bytes: Number },
      });
      t.match(await succeeds('etcd', 'status', `--data-dir=${dataDir}`), /\ndefault +https:.* leader /);
    });

    await t.test('every object is restored unchanged', async (t) => {
      await cluster.down();
      const refused = await run(orch, ['backup', 'restore', saved, `--data-dir=${dataDir}`]);
      t.match(refused.stderr, /holds a cluster; give another --data-dir, or --replace/);
      // An interrupted restore leaves this file.
      writeFileSync(layoutOf(dataDir).restoring, `${saved}\n`);
      t.match((await run(orch, ['up', '--detach', `--data-dir=${dataDir}`])).stderr, /was interrupted; run it again/);
      t.match(await succeeds('backup', 'restore', saved, `--data-dir=${dataDir}`, '--replace'), /orch up --data-dir=/);
      t.ok(existsSync(`${layoutOf(dataDir).etcd}.before-restore`));
      await cluster.up();
      const { revision: now } = await contents(dataDir);
      const manifest = JSON.parse(readManifest(saved)) as BackupManifest;
      const revision = BigInt(manifest.revision);
      t.ok(now >= revision, 'resource versions go on');
      const { kvs } = await contents(dataDir, revision);
      t.equal(kvs.length, manifest.objects, 'none is missing');
      t.same(kvs, before, 'and none is another');
      t.match(JSON.parse((await cluster.ctl('get', 'configmap', 'kept-7', '-o', 'json')).stdout), {
        data: { number: '7' },
      });
      const { stdout } = await cluster.ctl('get', 'nodes', '--no-headers');
      t.match(stdout, / Ready /, 'and its nodes are there');
    });

    await t.test('scheduled backups are made, and old ones are deleted', async (t) => {
      const to = join(folder, 'scheduled');
      cpSync(saved, join(to, 'orch-20000101T000000Z'), { recursive: true });
      const old = readManifest(saved).replace(/"time": "[^"]*"/, '"time": "2000-01-01T00:00:00.000Z"');
      writeFileSync(join(to, 'orch-20000101T000000Z', 'backup.json'), old);
      t.match(
        await succeeds('backup', 'schedule', `--data-dir=${dataDir}`, `--to=${to}`, '--every=1h', '--keep=1'),
        /Every 60 minutes.*the newest 1 are kept.*\n.*orch-20000101T000000Z.*\n.*as soon as the cluster runs/,
      );
      const [name] = await eventually('one is made, and the old one is gone', async () => {
        const names = readdirSync(to);
        return names.length === 1 && names[0] !== 'orch-20000101T000000Z' && !names[0]?.endsWith('.partial') && names;
      });
      t.match(await succeeds('backup', 'verify', join(to, name ?? '')), /is complete/);
      t.match(await succeeds('backup', 'schedule', `--data-dir=${dataDir}`), /The next one: in (59|60) minutes/);
      t.match(await succeeds('backup', 'schedule', `--data-dir=${dataDir}`, '--off'), /No backups are scheduled/);
    });
  },
);

function readManifest(folder: string): string {
  return readFileSync(join(folder, 'backup.json'), 'utf8');
}

async function ctl(cluster: TestCluster, ...args: string[]): Promise<void> {
  const { code, stderr } = await cluster.ctl(...args);
  if (code !== 0) throw new Error(`orchctl ${args.join(' ')}: ${stderr}`);
}

async function tampered(t: Test, saved: string, folder: string): Promise<void> {
  const cases: [string, (copy: string) => void, RegExp][] = [
    ['a byte more', (copy) => appendFileSync(join(copy, 'etcd.db'), 'x'), /etcd\.db does not match its checksum/],
    ['a file gone', (copy) => rmSync(join(copy, 'pki', 'ca.key')), /the backup is incomplete/],
    [
      'a path that leads elsewhere',
      (copy) => appendFileSync(join(copy, 'SHA256SUMS'), `${'0'.repeat(64)}  ../x\n`),
      /has a malformed line/,
    ],
    ['another format', (copy) => writeFileSync(join(copy, 'backup.json'), '{"kind":"other"}'), /is no backup/],
    ['no backup', (copy) => rmSync(join(copy, 'backup.json')), /no such file/],
  ];
  for (const [what, change, message] of cases) {
    const copy = join(folder, 'copy');
    cpSync(saved, copy, { recursive: true });
    change(copy);
    const target = join(folder, 'target');
    const { code, stderr } = await run(orch, ['backup', 'restore', copy, `--data-dir=${target}`]);
    t.equal(code, 1, what);
    t.match(stderr, message, what);
    t.notOk(existsSync(target), 'and nothing is begun');
    rmSync(copy, { recursive: true });
  }
}
