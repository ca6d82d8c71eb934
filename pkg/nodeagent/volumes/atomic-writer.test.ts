import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { noSmallDisks, smallDisk } from '#nodeagent/testing/small-disk.js';
import { writeAtomically } from '#nodeagent/volumes/atomic-writer.js';
import { checkHostPath } from '#nodeagent/volumes/host-path.js';
import type { PayloadFile } from '#nodeagent/volumes/payload.js';

const noRoot = process.getuid?.() === 0 ? false : 'only root gives files away';
const file = (text: string, mode = 0o644) => ({ data: Buffer.from(text), mode });

async function directory(t: { teardown(fn: () => unknown): void }) {
  const dir = await mkdtemp(join(tmpdir(), 'volume-'));
  t.teardown(() => rm(dir, { recursive: true }));
  return dir;
}

t.test('files are replaced atomically', async (t) => {
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
  const entries = await readdir(dir);
  t.same(
    entries.filter((name) => !name.startsWith('..')),
    ['a'],
    'obsolete files are removed',
  );
  t.equal(entries.length, 3, 'and nothing else is left');
});

t.test('a disk with no room for more files keeps the old or the new ones', { skip: noSmallDisks }, async (t) => {
  const dir = await smallDisk(t, { bytes: 256 * 1024, files: 17 });
  const named = (count: number, text: string) =>
    new Map(Array.from({ length: count }, (_, i) => [`f${i}`, file(text)] as const));
  await writeAtomically(dir, named(3, 'old'));
  const versions = async () => (await readdir(dir)).filter((name) => name.startsWith('..v')).length;
  // First without space for the files, then without space for all of their links.
  for (const count of [20, 8]) {
    for (let i = 0; i < 3; i++) await t.rejects(writeAtomically(dir, named(count, 'new')), { code: 'ENOSPC' });
    t.equal(await versions(), 1, 'nothing piles up');
    t.match(await readFile(join(dir, 'f0'), 'utf8'), /^(old|new)$/);
  }
  await writeAtomically(dir, named(3, 'again'));
  // Both sets together are too many: the links reuse the space of the old files.
  await writeAtomically(dir, named(6, 'last'));
  t.equal(await readFile(join(dir, 'f5'), 'utf8'), 'last');
  t.equal(await versions(), 1);
});

t.test('links of a container are not followed, and failures leave nothing behind', async (t) => {
  const dir = await directory(t);
  const outside = await directory(t);
  await writeFile(join(outside, 'kept'), '');
  await writeAtomically(dir, new Map([['a', file('1')]]));
  await rm(join(dir, '..data'));
  await symlink(outside, join(dir, '..data'));
  await symlink('nowhere', join(dir, '..data_tmp'));
  await mkdir(join(dir, 'foreign'));
  await writeAtomically(dir, new Map([['b', file('2')]]));
  t.same(await readdir(outside), ['kept']);
  t.equal(await readFile(join(dir, 'b'), 'utf8'), '2');
  const clash = new Map([
    ['c', file('1')],
    ['c/d', file('2')],
  ]);
  await t.rejects(writeAtomically(dir, clash));
  const entries = (await readdir(dir)).sort();
  t.equal(entries.filter((name) => name.startsWith('..v')).length, 1);
  t.same(
    entries.filter((name) => !name.startsWith('..v')),
    ['..data', 'b', 'foreign'],
  );
});

t.test('entries in place of the links are removed', async (t) => {
  const dir = await directory(t);
  for (const name of ['..data', '..data_tmp']) {
    await mkdir(join(dir, name));
    await writeFile(join(dir, name, 'planted'), '');
  }
  await mkdir(join(dir, '..v-of-a-writer-that-was-killed'));
  await writeAtomically(dir, new Map([['a', file('1')]]));
  t.equal(await readFile(join(dir, 'a'), 'utf8'), '1');
  t.same((await readdir(dir)).filter((name) => !name.startsWith('..v')).sort(), ['..data', 'a']);
  t.equal((await readdir(dir)).length, 3);
});

t.test("files have their mode, and the pod's group can read them", { skip: noRoot }, async (t) => {
  const dir = await directory(t);
  const files = new Map<string, PayloadFile>([
    ['own', { ...file('1', 0o600), user: 1234 }],
    ['sub/other', file('2', 0o200)],
  ]);
  const modeOf = async (name: string) => {
    const { mode, uid, gid } = await stat(join(dir, '..data', name));
    return [(mode & 0o7777).toString(8), uid, gid];
  };
  await writeAtomically(dir, files);
  t.same(await modeOf('own'), ['600', 1234, 0]);
  t.same(await modeOf('sub/other'), ['200', 0, 0]);
  await writeAtomically(dir, files, 77);
  t.same(await modeOf('own'), ['640', 1234, 77]);
  t.same(await modeOf('sub/other'), ['640', 0, 77]);
  t.same(await modeOf('sub'), ['2755', 0, 77]);
  t.same(await modeOf('.'), ['2755', 0, 77]);
});

t.test('a hostPath is created or checked as its type requires', async (t) => {
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

const disk = await mkdtemp(join(tmpdir(), 'volume-'));
const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
t.teardown(async () => {
  if (status === 0) spawnSync('umount', [disk]);
  await rm(disk, { recursive: true });
});

t.test('a full disk keeps the old files only', { skip: status !== 0 && 'mounting is not permitted' }, async (t) => {
  await writeAtomically(disk, new Map([['a', file('old')]]));
  const before = await readdir(disk);
  // Leftovers of a writer that was killed between two steps.
  await symlink('nowhere', join(disk, '..data_tmp'));
  for (let i = 0; i < 3; i++) {
    await t.rejects(writeAtomically(disk, new Map([['a', file('new'.repeat(40_000))]])), { code: 'ENOSPC' });
  }
  t.same(await readdir(disk), before);
  t.equal(await readFile(join(disk, 'a'), 'utf8'), 'old');
  await symlink('nowhere', join(disk, '..data_tmp'));
  await writeAtomically(disk, new Map([['a', file('new')]]));
  t.equal(await readFile(join(disk, 'a'), 'utf8'), 'new');
  t.same((await readdir(disk)).length, before.length);
});
