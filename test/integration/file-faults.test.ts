/** Writers of files keep the old file when a write fails, report why, and recover. */
import { execFile } from 'node:child_process';
import { type FileHandle, mkdir, open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { replaceFile } from '#cluster/process/replace-file.js';
import { replaceIfChanged } from '#nodeagent/files/regular-file.js';
import { noSmallDisks, smallDisk } from '#nodeagent/testing/small-disk.js';
import { writeAtomically } from '#nodeagent/volumes/atomic-writer.js';
import { directoryStore } from '#pki/file-store.js';

const run = promisify(execFile);

type Write = (dir: string, text: string) => unknown;

/** Programs that write or replace `file` in the directory. */
const writers: Readonly<Record<string, Write>> = {
  'state of a cluster': (dir, text) => replaceFile(join(dir, 'file'), text),
  certificates: (dir, text) => directoryStore(dir).write('file', text, 0o600),
  'hosts files': (dir, text) => replaceIfChanged(join(dir, 'file'), text, 0o644),
  volumes: (dir, text) => writeAtomically(dir, new Map([['file', { data: Buffer.from(text), mode: 0o644 }]])),
};

const refuses = async (write: Write, dir: string): Promise<string> => {
  try {
    await write(dir, 'new');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
  return 'written';
};

t.test('a disk that accepts no writes', { skip: noSmallDisks }, async (t) => {
  const disk = await smallDisk(t, { bytes: 1024 * 1024, files: 100 });
  const before = new Map<string, string[]>();
  for (const [what, write] of Object.entries(writers)) {
    await mkdir(join(disk, what));
    await write(join(disk, what), 'old');
    before.set(what, await readdir(join(disk, what)));
  }
  await run('mount', ['-o', 'remount,ro', disk]);
  for (const [what, write] of Object.entries(writers)) {
    t.equal(await refuses(write, join(disk, what)), 'EROFS', what);
    t.equal(await readFile(join(disk, what, 'file'), 'utf8'), 'old');
    t.same(await readdir(join(disk, what)), before.get(what));
  }
  await run('mount', ['-o', 'remount,rw', disk]);
  for (const [what, write] of Object.entries(writers)) {
    await write(join(disk, what), 'new');
    t.equal(await readFile(join(disk, what, 'file'), 'utf8'), 'new', what);
    t.equal((await readdir(join(disk, what))).length, before.get(what)?.length, 'nothing lies beside it');
  }
});

t.test('a process without file descriptors', async (t) => {
  const disk = t.testdir(Object.fromEntries(Object.keys(writers).map((what) => [what, {}])));
  for (const [what, write] of Object.entries(writers)) await write(join(disk, what), 'old');
  const limit = (soft: string) => run('prlimit', [`--pid=${process.pid}`, `--nofile=${soft}:`]);
  const { stdout } = await run('prlimit', [`--pid=${process.pid}`, '--nofile', '--output=SOFT', '--noheadings']);
  await limit('256');
  const handles: FileHandle[] = [];
  const codes: string[] = [];
  try {
    await t.rejects(
      async () => {
        for (;;) handles.push(await open('/dev/null'));
      },
      { code: 'EMFILE' },
    );
    for (const [what, write] of Object.entries(writers)) codes.push(await refuses(write, join(disk, what)));
  } finally {
    for (const handle of handles) await handle.close();
    await limit(stdout.trim());
  }
  t.same(
    codes,
    Object.keys(writers).map(() => 'EMFILE'),
  );
  for (const [what, write] of Object.entries(writers)) {
    t.equal(await readFile(join(disk, what, 'file'), 'utf8'), 'old', what);
    await write(join(disk, what), 'new');
    t.equal(await readFile(join(disk, what, 'file'), 'utf8'), 'new');
  }
});
