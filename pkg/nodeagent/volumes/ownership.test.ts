import { chmod, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { giveToGroup } from '#nodeagent/volumes/ownership.js';

const skip = process.getuid?.() === 0 ? false : 'only root gives files away';

t.test("a volume gets its pod's group", { skip }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'volume-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const [volume, outside] = [join(dir, 'volume'), join(dir, 'outside')];
  await mkdir(join(volume, 'sub'), { recursive: true });
  await writeFile(join(volume, 'sub', 'file'), '', { mode: 0o640 });
  await writeFile(join(volume, 'program'), '', { mode: 0o500 });
  await writeFile(outside, '', { mode: 0o600 });
  await symlink(outside, join(volume, 'link'));
  const ownerAndMode = async (path: string) => {
    const { gid, mode } = await stat(join(volume, path));
    return `${gid} ${(mode & 0o7777).toString(8)}`;
  };
  const all = { group: 77, policy: undefined };

  await giveToGroup(volume, all);
  t.equal(await ownerAndMode('.'), '77 2775');
  t.equal(await ownerAndMode('sub'), '77 2775');
  t.equal(await ownerAndMode('sub/file'), '77 660');
  t.equal(await ownerAndMode('program'), '77 760');
  t.equal(await ownerAndMode('link'), '0 600', "a link's target is unchanged");

  await chmod(join(volume, 'sub', 'file'), 0o600);
  await giveToGroup(volume, { ...all, policy: 'OnRootMismatch' });
  t.equal(await ownerAndMode('sub/file'), '77 600', 'the root is right: nothing is looked at');
  await chmod(volume, 0o775);
  await giveToGroup(volume, { ...all, policy: 'OnRootMismatch' });
  t.equal(await ownerAndMode('sub/file'), '77 660', 'the root lacks a bit');
  await chmod(join(volume, 'sub', 'file'), 0o600);
  await giveToGroup(volume, { ...all, policy: 'Always' });
  t.equal(await ownerAndMode('sub/file'), '77 660');

  const signal = AbortSignal.abort(new Error('the pod is to end'));
  await t.rejects(giveToGroup(volume, { ...all, group: 78, signal }), { message: 'the pod is to end' });
  t.equal(await ownerAndMode('.'), '77 2775', 'the root comes last');
});
