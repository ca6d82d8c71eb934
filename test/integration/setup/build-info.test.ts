/** The build info of a checkout, of an archive, and of a plain copy. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { readBuildInfo, versionInfo } from '#daemon/version.js';
import { root, run } from '#test/e2e/harness.js';

const git = (cwd: string, ...args: string[]) =>
  run('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.test', ...args], { cwd });
const info = async (folder: string) => {
  const { stdout, stderr } = await run(join(folder, 'hack', 'build-info.sh'), [], {
    env: { SOURCE_DATE_EPOCH: '86400', GIT_CEILING_DIRECTORIES: tmpdir() },
  });
  const file = join(folder, 'build.out');
  writeFileSync(file, stdout === '' ? stderr : stdout);
  const buildInfo = readBuildInfo(pathToFileURL(file));
  rmSync(file);
  return buildInfo;
};

t.test('the commit of a build', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'orch-build-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const [checkout, copy, unpacked] = ['checkout', 'copy', 'unpacked'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [checkout, copy, unpacked]) mkdirSync(join(path, 'hack'), { recursive: true });
  for (const path of [checkout, copy]) {
    cpSync(join(root, 'hack', 'build-info.sh'), join(path, 'hack', 'build-info.sh'));
    cpSync(join(root, '.gitattributes'), join(path, '.gitattributes'));
  }
  const buildDate = '1970-01-02T00:00:00Z';
  t.same(await info(copy), { gitCommit: '', gitTreeState: 'archive', buildDate });
  if ((await run('git', ['--version']).catch(() => undefined)) === undefined) return t.comment('no git here');
  for (const args of [
    ['init', '-q'],
    ['add', '.'],
    ['commit', '-q', '-m', 'one'],
  ])
    await git(checkout, ...args);
  const gitCommit = (await git(checkout, 'rev-parse', 'HEAD')).stdout.trim();
  t.match(gitCommit, /^[0-9a-f]{40}$/);
  t.same(await info(checkout), { gitCommit, gitTreeState: 'clean', buildDate });
  writeFileSync(join(checkout, 'new'), '');
  t.same(await info(checkout), { gitCommit, gitTreeState: 'dirty', buildDate });
  await git(checkout, 'archive', '-o', join(folder, 'all.tar'), 'HEAD');
  await run('tar', ['-xf', join(folder, 'all.tar'), '-C', unpacked]);
  t.same(await info(unpacked), { gitCommit, gitTreeState: 'archive', buildDate });
});

t.test('a build that says nothing, or nonsense', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'orch-build-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const unknown = { gitCommit: '', gitTreeState: '', buildDate: '1970-01-01T00:00:00Z' };
  for (const text of ['', 'null', '[]', '{', '{"gitCommit":1}']) {
    writeFileSync(join(folder, 'f'), text);
    t.same(readBuildInfo(pathToFileURL(join(folder, 'f'))), unknown, text);
  }
  t.same(readBuildInfo(pathToFileURL(join(folder, 'none'))), unknown);
  t.match(versionInfo(orchDialect), { major: '1', minor: '24', goVersion: process.version, compiler: 'v8' });
});
