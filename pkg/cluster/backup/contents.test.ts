/** Folders that are no backup, or one that was changed to harm the machine that restores it. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { manifestFile, readManifest, snapshotFile, sumsFile, verifyBackup } from '#cluster/backup/contents.js';

const manifest = JSON.stringify({
  ...{
    kind: 'orch backup',
    format: 1,
    version: '1',
    dialect: 'orch',
    time: '2024-01-01T00:00:00Z',
    revision: '7',
    objects: 1,
  },
  ...{ cluster: 'c', members: [] },
});
const texts: Readonly<Record<string, string>> = {
  [manifestFile]: manifest,
  [snapshotFile]: 'store',
  'pki/ca.crt': 'authority',
};
const lineOf = (path: string, text: string) => `${createHash('sha256').update(text).digest('hex')}  ${path}\n`;
const sums = Object.entries(texts)
  .map(([path, text]) => lineOf(path, text))
  .join('');

function backup(t: Test): string {
  const folder = join(t.testdir(), 'backup');
  mkdirSync(join(folder, 'pki'), { recursive: true });
  for (const [path, text] of Object.entries({ ...texts, [sumsFile]: sums })) writeFileSync(join(folder, path), text);
  return folder;
}

t.test('a backup is verified, also through a link to its folder', async (t) => {
  const folder = backup(t);
  t.equal((await readManifest(folder)).revision, '7', 'the manifest');
  t.same(await verifyBackup(folder), Object.keys(texts), 'its files');
  symlinkSync(folder, `${folder}-link`);
  t.same(await verifyBackup(`${folder}-link`), Object.keys(texts), 'through a link');
});

t.test('a manifest with thousands of members is refused', async (t) => {
  const folder = backup(t);
  const members = Array.from({ length: 5000 }, () => ({ name: 'm', clientURLs: ['https://192.0.2.1:2379'] }));
  writeFileSync(join(folder, manifestFile), JSON.stringify({ ...JSON.parse(manifest), members }));
  await t.rejects(readManifest(folder), { message: /has malformed etcd members$/ });
});

t.test('a folder that leads elsewhere, never ends, or repeats itself is refused', async (t) => {
  const rows: [why: string, change: (folder: string) => void, message: RegExp][] = [
    [
      'a link to a file',
      (folder) => {
        renameSync(join(folder, 'pki/ca.crt'), `${folder}-other`);
        symlinkSync(`${folder}-other`, join(folder, 'pki/ca.crt'));
      },
      /the backup is incomplete: .*pki\/ca.crt is no regular file of the backup/,
    ],
    [
      'a link to a folder',
      (folder) => {
        renameSync(join(folder, 'pki'), `${folder}-pki`);
        symlinkSync(`${folder}-pki`, join(folder, 'pki'));
      },
      /pki\/ca.crt is no regular file of the backup/,
    ],
    [
      'a pipe as a store',
      (folder) => {
        rmSync(join(folder, snapshotFile));
        execFileSync('mkfifo', [join(folder, snapshotFile)]);
      },
      /etcd.db is no regular file of the backup/,
    ],
    [
      'an endless list of checksums',
      (folder) => {
        rmSync(join(folder, sumsFile));
        symlinkSync('/dev/zero', join(folder, sumsFile));
      },
      /SHA256SUMS is no regular file of the backup/,
    ],
    [
      'a file that is listed twice',
      (folder) => writeFileSync(join(folder, sumsFile), sums + lineOf(snapshotFile, 'store')),
      /SHA256SUMS lists etcd.db twice/,
    ],
    [
      'a path out of the folder',
      (folder) => writeFileSync(join(folder, sumsFile), sums + lineOf('pki/../../x', 'x')),
      /SHA256SUMS has a malformed line/,
    ],
    [
      'another text',
      (folder) => writeFileSync(join(folder, 'pki/ca.crt'), 'impostor'),
      /pki\/ca.crt does not match its checksum/,
    ],
    [
      'a long list',
      (folder) => writeFileSync(join(folder, sumsFile), sums.repeat(10_000)),
      /expected at most 1048576 bytes/,
    ],
  ];
  for (const [why, change, message] of rows) {
    const folder = backup(t);
    change(folder);
    await t.rejects(verifyBackup(folder), { name: 'SetupError', message }, why);
    rmSync(folder, { recursive: true });
    for (const rest of ['-other', '-pki']) rmSync(folder + rest, { recursive: true, force: true });
  }
  const folder = backup(t);
  rmSync(join(folder, manifestFile));
  execFileSync('mkfifo', [join(folder, manifestFile)]);
  await t.rejects(readManifest(folder), { message: /backup.json is no regular file/ }, 'a pipe as a manifest');
});
