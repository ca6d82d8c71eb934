import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { readIdentity, runningProcesses, writeIdentity } from '#cluster/process/identity.js';
import { replaceFile } from '#cluster/process/replace-file.js';

const dir = mkdtempSync(join(tmpdir(), 'identity-'));
const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', dir]);
t.teardown(() => {
  if (status === 0) spawnSync('umount', [dir]);
  rmSync(dir, { recursive: true });
});

t.test('a damaged identity file names no process', async (t) => {
  const file = join(dir, 'x.pid');
  writeIdentity(file, process.pid);
  t.equal(readIdentity(file)?.pid, process.pid);
  for (const torn of ['', '{"pid":12', 'null', '7', '{"pid":"x"}']) {
    writeFileSync(file, torn);
    t.equal(readIdentity(file), undefined, JSON.stringify(torn));
    t.equal((await runningProcesses(dir)).size, 0);
  }
  rmSync(file);
});

t.test('a full disk keeps the old file whole', { skip: status !== 0 && 'no right to mount' }, async (t) => {
  const file = join(dir, 'settings');
  replaceFile(file, 'old');
  t.throws(() => writeFileSync(join(dir, 'ballast'), Buffer.alloc(128 * 1024)), { code: 'ENOSPC' });
  t.throws(() => replaceFile(file, 'new'.repeat(10_000)), { code: 'ENOSPC' });
  t.throws(() => writeIdentity(join(dir, 'x.pid'), process.pid), { code: 'ENOSPC' });
  t.equal(readFileSync(file, 'utf8'), 'old');
  t.same(readdirSync(dir).sort(), ['ballast', 'settings']);
});
