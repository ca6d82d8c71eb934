import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { readLastBytes, replaceIfChanged } from '#nodeagent/files/regular-file.js';
import { noSmallDisks, smallDisk } from '#nodeagent/testing/small-disk.js';

t.test('only the end of a large file is read', async (t) => {
  const dir = t.testdir({ small: 'abc', empty: '', large: 'x'.repeat(10_000).concat('end') });
  t.equal(String(await readLastBytes(join(dir, 'small'), 4096)), 'abc');
  t.equal(String(await readLastBytes(join(dir, 'empty'), 4096)), '');
  t.equal(await readLastBytes(join(dir, 'none'), 4096), undefined);
  const end = String(await readLastBytes(join(dir, 'large'), 4096));
  t.equal(end.length, 4096);
  t.ok(end.endsWith('xend'));
  // A sparse file of two terabytes, which cannot be read in full.
  await truncate(join(dir, 'small'), 2 ** 41);
  t.equal((await readLastBytes(join(dir, 'small'), 4096))?.length, 4096);
});

t.test('only regular files are opened', async (t) => {
  const dir = t.testdir({ target: 'secret' });
  await symlink(join(dir, 'target'), join(dir, 'link'));
  await symlink('loop', join(dir, 'loop'));
  await mkdir(join(dir, 'directory'));
  execFileSync('mkfifo', [join(dir, 'pipe')]);
  await symlink('/dev/zero', join(dir, 'device'));
  for (const name of ['link', 'loop', 'directory', 'pipe', 'device']) {
    await t.rejects(readLastBytes(join(dir, name), 4096), { name: 'NotRegularFileError' }, name);
  }
  await t.rejects(readLastBytes('/dev/null', 4096), { name: 'NotRegularFileError' });
  await writeFile(join(dir, 'after'), 'still works');
  t.equal(String(await readLastBytes(join(dir, 'after'), 5)), 'works');
});

t.test(
  'on a full disk the old content stays intact, and a write works again when there is space',
  { skip: noSmallDisks },
  async (t) => {
    const dir = await smallDisk(t, { bytes: 64 * 1024, files: 20 });
    const path = join(dir, 'hosts');
    await replaceIfChanged(path, 'old', 0o644);
    const { ino, mode } = await stat(path);
    t.equal(mode & 0o777, 0o644);
    await replaceIfChanged(path, 'old', 0o644);
    t.equal((await stat(path)).ino, ino, 'not touched');
    await t.rejects(writeFile(join(dir, 'ballast'), Buffer.alloc(128 * 1024)), { code: 'ENOSPC' });
    await t.rejects(replaceIfChanged(path, 'x'.repeat(10_000), 0o644), { code: 'ENOSPC' });
    t.equal(await readFile(path, 'utf8'), 'old');
    t.same((await readdir(dir)).sort(), ['ballast', 'hosts'], 'nothing lies beside it');
    await rm(join(dir, 'ballast'));
    await replaceIfChanged(path, 'x'.repeat(10_000), 0o644);
    t.equal((await readFile(path, 'utf8')).length, 10_000);
  },
);

t.test('a file as large as the disk is replaced and never read in full', async (t) => {
  const path = join(t.testdir({ hosts: 'old' }), 'hosts');
  await truncate(path, 2 ** 41);
  await replaceIfChanged(path, 'new', 0o644);
  t.equal(await readFile(path, 'utf8'), 'new');
});
