import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import t, { type Test } from 'tap';
import { silentLogger } from '#daemon/log/logger.js';
import { LocalDirectories, SimulatedLocalDirectories, VolumeInUseError } from '#nodeagent/volumes/local-directories.js';

function setUp(t: Test, mounted: readonly string[] = []) {
  const root = join(t.testdir(), 'volumes');
  const limits: string[] = [];
  const directories = new LocalDirectories({
    root,
    pods: { ofAll: async () => [...mounted] },
    quotas: {
      limit: async (path, bytes) => void limits.push(`${basename(path)} ${bytes}`),
      release: (_, remove) => remove(),
    },
    log: silentLogger,
    random: () => 0.5,
  });
  return { root, directories, limits };
}

t.test('a directory is created once, writable by all, and removed with its contents', async (t) => {
  const { root, directories, limits } = setUp(t);
  await directories.start();
  const path = await directories.make('pvc-1', 1024);
  t.equal(path, join(root, 'pvc-1'));
  t.equal((await stat(path)).mode & 0o777, 0o777);
  await writeFile(join(path, 'data'), 'kept');
  t.equal(await directories.make('pvc-1', 1024), path, 'second call');
  t.equal(await readFile(join(path, 'data'), 'utf8'), 'kept');
  t.same(limits, ['pvc-1 1024', 'pvc-1 1024'], 'of its size');
  await directories.remove('pvc-1');
  t.notOk((await readdir(root)).includes('pvc-1'), 'gone at once');
  await directories.removed();
  t.same(await readdir(root), []);
  await directories.remove('pvc-1');
});

t.test('leftovers of an earlier agent are removed at the start', async (t) => {
  const { root, directories } = setUp(t);
  await mkdir(join(root, '.removed-pvc-1-x', 'deep'), { recursive: true });
  await mkdir(join(root, 'pvc-2'));
  await directories.start();
  await directories.removed();
  t.same(await readdir(root), ['pvc-2']);
});

t.test('a mounted directory is kept', async (t) => {
  // The root directory is a mount on every machine.
  const { root, directories } = setUp(t, ['/']);
  await directories.make('pvc-1', 1024);
  await t.rejects(directories.remove('pvc-1'), VolumeInUseError);
  t.same(await readdir(root), ['pvc-1']);
});

for (const name of ['', '.', '..', '../x', 'a/b', '.removed-x', 'Ü', 'a'.repeat(254)]) {
  t.test(`${JSON.stringify(name.slice(0, 20))} is rejected as a volume name`, async (t) => {
    const { directories } = setUp(t);
    for (const each of [directories, new SimulatedLocalDirectories('/nowhere')]) {
      await t.rejects(each.make(name, undefined), RangeError);
      await t.rejects(each.remove(name), RangeError);
    }
  });
}
