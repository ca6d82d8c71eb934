/**
 * Writes the files of a volume so that a reader sees either all old ones or all new ones: they live in a directory of
 * their own, `..data` points to it, and the names that users see point through `..data`. Layout of release 1.24
 * (volume/util/atomic_writer.go).
 */
import { chmod, chown, mkdir, mkdtemp, readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PayloadFile } from '#nodeagent/volumes/payload.js';

const dataName = '..data';

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** @param group Owner of all files and directories, where the pod has one. */
export async function writeAtomically(
  dir: string,
  files: ReadonlyMap<string, PayloadFile>,
  group?: number,
): Promise<void> {
  const fresh = await mkdtemp(`${dir}/..v`);
  await chmod(fresh, 0o755);
  const directories = new Set<string>();
  for (const path of files.keys()) {
    for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) directories.add(parent);
  }
  for (const directory of [...directories].sort()) await mkdir(join(fresh, directory), { mode: 0o755 });
  for (const [path, file] of files) {
    const target = join(fresh, path);
    await writeFile(target, file.data);
    // Set apart from the creation: that is subject to the process's umask.
    await chmod(target, group === undefined ? file.mode : file.mode | ((file.mode & 0o400) >> 3));
    if (group !== undefined) await chown(target, -1, group);
  }
  const name = fresh.slice(dir.length + 1);
  const old = await linkTarget(join(dir, dataName));
  await symlink(name, join(dir, `${dataName}_tmp`));
  await rename(join(dir, `${dataName}_tmp`), join(dir, dataName));
  await linkVisible(dir, new Set([...files.keys()].map((path) => path.split('/')[0] ?? path)));
  if (old !== undefined && old !== name) await rm(join(dir, old), { recursive: true, force: true });
}

async function linkVisible(dir: string, wanted: ReadonlySet<string>): Promise<void> {
  const present = (await readdir(dir)).filter((name) => !name.startsWith('..'));
  for (const name of wanted) {
    if (!present.includes(name)) await symlink(join(dataName, name), join(dir, name));
  }
  for (const name of present) if (!wanted.has(name)) await rm(join(dir, name), { force: true });
}
