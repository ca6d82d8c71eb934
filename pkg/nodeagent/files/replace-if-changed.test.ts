import { readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { replaceIfChanged } from '#nodeagent/files/replace-if-changed.js';
import { noSmallDisks, smallDisk } from '#nodeagent/testing/small-disk.js';

t.test('on a full disk the old text stays whole, and room heals it', { skip: noSmallDisks }, async (t) => {
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
});

t.test('what somebody made as long as the disk is replaced, and never read whole', async (t) => {
  const path = join(t.testdir({ hosts: 'old' }), 'hosts');
  await truncate(path, 2 ** 41);
  await replaceIfChanged(path, 'new', 0o644);
  t.equal(await readFile(path, 'utf8'), 'new');
});
