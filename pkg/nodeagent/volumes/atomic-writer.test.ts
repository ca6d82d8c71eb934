import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { writeAtomically } from '#nodeagent/volumes/atomic-writer.js';
import { checkHostPath } from '#nodeagent/volumes/host-path.js';

const file = (text: string, mode = 0o644) => ({ data: Buffer.from(text), mode });

async function directory(t: { teardown(fn: () => unknown): void }) {
  const dir = await mkdtemp(join(tmpdir(), 'volume-'));
  t.teardown(() => rm(dir, { recursive: true }));
  return dir;
}

t.test('files are replaced all at once', async (t) => {
  const dir = await directory(t);
  await writeAtomically(
    dir,
    new Map([
      ['a', file('1')],
      ['sub/b', file('2', 0o600)],
    ]),
  );
  t.equal(await readFile(join(dir, 'a'), 'utf8'), '1');
  t.equal(await readFile(join(dir, 'sub/b'), 'utf8'), '2');
  t.equal((await stat(join(dir, 'sub/b'))).mode & 0o777, 0o600);
  t.equal(await readlink(join(dir, 'a')), '..data/a');
  const before = await readlink(join(dir, '..data'));
  await writeAtomically(dir, new Map([['a', file('3')]]));
  t.equal(await readFile(join(dir, 'a'), 'utf8'), '3');
  t.not(await readlink(join(dir, '..data')), before);
  const left = await readdir(dir);
  t.same(
    left.filter((name) => !name.startsWith('..')),
    ['a'],
    'what is no longer wanted is gone',
  );
  t.equal(left.length, 3, 'and nothing else is left');
});

t.test('hostPath types', async (t) => {
  const dir = await directory(t);
  await writeFile(join(dir, 'file'), '');
  await mkdir(join(dir, 'dir'));
  await symlink(join(dir, 'dir'), join(dir, 'link'));
  for (const [name, type] of [
    ['dir', 'Directory'],
    ['link', 'Directory'],
    ['file', 'File'],
    ['new', 'DirectoryOrCreate'],
    ['newfile', 'FileOrCreate'],
    ['none', ''],
  ] as const) {
    await t.resolves(checkHostPath(join(dir, name), type), `${name} as ${type}`);
  }
  for (const [name, type] of [
    ['file', 'Directory'],
    ['dir', 'File'],
    ['none', 'File'],
    ['dir', 'Socket'],
    ['dir', 'Odd'],
  ] as const) {
    await t.rejects(checkHostPath(join(dir, name), type), { name: 'VolumeError' }, `${name} as ${type}`);
  }
});
