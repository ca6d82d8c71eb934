import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { bindMount, mountsBelow, unmount } from '#nodeagent/files/mounts.js';
import { openBeneath } from '#nodeagent/files/open-beneath.js';
import { descriptorPath } from '#nodeagent/files/regular-file.js';

t.test('a path is opened within its directory, also through links', async (t) => {
  const dir = t.testdir({ root: { data: { file: 'x', deep: { er: {} } } }, outside: { secret: 's' } });
  const root = join(dir, 'root');
  await symlink('data', join(root, 'link'));
  await symlink('../data/deep', join(root, 'data', 'up'));
  await symlink('loop', join(root, 'loop'));
  await symlink('/etc', join(root, 'absolute'));
  await symlink('../outside', join(root, 'out'));
  await symlink('link/../../outside', join(root, 'winding'));
  await symlink(root, join(dir, 'to-root'));
  const reached = async (path: string, from = root) => {
    const handle = await openBeneath(from, path);
    try {
      return (await readlink(descriptorPath(handle))).slice(root.length + 1);
    } finally {
      await handle.close();
    }
  };
  for (const [path, expected] of [
    ['data', 'data'],
    ['data/file', 'data/file'],
    ['./data//deep/.', 'data/deep'],
    ['link/deep/er', 'data/deep/er'],
    ['data/up/er', 'data/deep/er'],
    ['.', ''],
  ] as const) {
    t.equal(await reached(path), expected, path);
  }
  t.equal(await reached('data', join(dir, 'to-root')), 'data', "the root's own path may have links");
  for (const path of [
    'absolute',
    'absolute/passwd',
    'out',
    'out/secret',
    'winding',
    '..',
    'data/../..',
    '/etc',
    'loop',
  ]) {
    await t.rejects(openBeneath(root, path), { name: 'EscapingPathError' }, path);
  }
  await t.rejects(openBeneath(root, 'data/file/x'), { code: 'ENOTDIR' });
  await t.rejects(openBeneath(root, 'none'), { code: 'ENOENT' });
});

t.test('missing directories are created inside only, with the right mode', async (t) => {
  const dir = t.testdir({ root: { real: {} }, outside: {} });
  const root = join(dir, 'root');
  await symlink('../outside', join(root, 'out'));
  await symlink('real', join(root, 'in'));
  await (await openBeneath(root, 'a/b/c', { makeMode: 0o2777 })).close();
  for (const path of ['a', 'a/b', 'a/b/c']) t.equal((await stat(join(root, path))).mode & 0o7777, 0o2777, path);
  await (await openBeneath(root, 'in/new', { makeMode: 0o755 })).close();
  t.ok((await stat(join(root, 'real/new'))).isDirectory());
  await t.rejects(openBeneath(root, 'out/created', { makeMode: 0o777 }), { name: 'EscapingPathError' });
  await t.rejects(openBeneath(root, 'new/../../outside/created', { makeMode: 0o777 }), { name: 'EscapingPathError' });
  t.same(await readdir(join(dir, 'outside')), []);
});

const skip = process.getuid?.() === 0 ? false : 'needs root';

t.test('swapping directories and links continuously causes no escape', { skip }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'beneath-'));
  for (const path of ['root/a/b', 'outside/b', 'target']) await mkdir(join(dir, path), { recursive: true });
  await writeFile(join(dir, 'outside/b/secret'), 's');
  const [root, outside, target] = ['root', 'outside', 'target'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  const script = `cd ${root}; while :; do mv -T a c; ln -s ../outside a; rm -rf a; ln -s ${outside} a; rm -rf a; mv -T c a; done`;
  // Ends by itself if this test does not end it.
  const attacker = spawn('timeout', ['60', 'sh', '-c', script], { stdio: 'ignore' });
  const exited = once(attacker, 'exit');
  t.teardown(async () => {
    attacker.kill('SIGTERM');
    await exited;
    for (const mount of await mountsBelow(dir)) await unmount(mount);
    await rm(dir, { recursive: true });
  });
  let mounted = 0;
  for (let i = 0; i < 150; i++) {
    try {
      const handle = await openBeneath(root, 'a/b', { makeMode: 0o755 });
      try {
        await bindMount(handle, target);
      } finally {
        await handle.close();
      }
      t.same(await readdir(target), [], 'no file outside is visible');
      await unmount(target);
      mounted++;
    } catch (error) {
      // Failures are allowed; an escape is not.
      if (!(error instanceof Error)) throw error;
    }
  }
  t.ok(mounted > 0, `${mounted} of 150 were mounted`);
  t.same(await readdir(outside), ['b']);
});

t.test('an opened file is mounted even if its name has changed since', { skip }, async (t) => {
  const dir = t.testdir({ root: { file: 'inside' }, outside: 'outside', target: '' });
  const target = join(dir, 'target');
  const handle = await openBeneath(join(dir, 'root'), 'file');
  await rm(join(dir, 'root/file'));
  await symlink('../outside', join(dir, 'root/file'));
  await t.rejects(bindMount(handle, target), 'a deleted file cannot be mounted');
  await handle.close();
  await rm(join(dir, 'root/file'));
  await writeFile(join(dir, 'root/file'), 'again');
  await mkdir(join(dir, 'root/sub'));
  const again = await openBeneath(join(dir, 'root'), 'file');
  await bindMount(again, target);
  await bindMount(again, target);
  await again.close();
  t.equal((await mountsBelow(dir)).length, 1, 'mounted once');
  await symlink('.', join(dir, 'link'));
  t.equal((await mountsBelow(join(dir, 'link'))).length, 1, 'also through a link');
  await unmount(target);
  t.same(await mountsBelow(dir), []);
});

t.test('an unprivileged process gets a clear error', { skip }, async (t) => {
  const dir = t.testdir({ root: { part: {} }, target: {} });
  const script = `
    const { openBeneath } = await import(${JSON.stringify(import.meta.resolve('#nodeagent/files/open-beneath.js'))});
    const { bindMount } = await import(${JSON.stringify(import.meta.resolve('#nodeagent/files/mounts.js'))});
    const part = await openBeneath(${JSON.stringify(join(dir, 'root'))}, 'part');
    await bindMount(part, ${JSON.stringify(join(dir, 'target'))}).catch((error) => console.log(error.name));`;
  const args = [
    '--bounding-set=-sys_admin',
    '--inh-caps=-sys_admin',
    process.execPath,
    '--input-type=module',
    '-e',
    script,
  ];
  t.equal(execFileSync('setpriv', args, { encoding: 'utf8' }), 'MountRefusedError\n');
});
