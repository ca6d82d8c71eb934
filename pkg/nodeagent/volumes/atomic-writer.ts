/**
 * Writes the files of a volume so that a reader sees either all old ones or all new ones: they live in a directory of
 * their own, `..data` points to it, and the names that users see point through `..data`. Layout of release 1.24
 * (volume/util/atomic_writer.go).
 */
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PayloadFile } from '#nodeagent/volumes/payload.js';

/** The link to the directory of the files that count. */
export const dataName = '..data';
/** Of the directories of files, old and new. */
export const versionPrefix = '..v';

/** @param group Owner of all files and directories, where the pod has one (`fsGroup`); it may read them all. */
export async function writeAtomically(
  dir: string,
  files: ReadonlyMap<string, PayloadFile>,
  group?: number,
): Promise<void> {
  const fresh = await mkdtemp(`${dir}/${versionPrefix}`);
  const name = fresh.slice(dir.length + 1);
  const next = join(dir, `${dataName}_tmp`);
  try {
    await fill(fresh, files, group);
    // What a writer that was killed has left, or somebody else has put in its way.
    await rm(next, { recursive: true, force: true });
    await symlink(name, next);
    if (await isDirectory(join(dir, dataName))) await rm(join(dir, dataName), { recursive: true });
    await rename(next, join(dir, dataName));
  } catch (error) {
    // Tried again and again on a disk that is full, the remains would fill it for good.
    await rm(fresh, { recursive: true, force: true });
    await rm(next, { force: true });
    throw error;
  }
  // Before the links: on a disk that is full they may find their place where the old files were.
  const versions = (await readdir(dir)).filter((each) => each.startsWith(versionPrefix) && each !== name);
  for (const version of versions) await rm(join(dir, version), { recursive: true, force: true });
  await linkVisible(dir, new Set([...files.keys()].map((path) => path.split('/')[0] ?? path)));
}

async function fill(fresh: string, files: ReadonlyMap<string, PayloadFile>, group: number | undefined): Promise<void> {
  await chmod(fresh, 0o755);
  const directories = new Set<string>();
  for (const path of files.keys()) {
    for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) directories.add(parent);
  }
  for (const directory of [...directories].sort()) await mkdir(join(fresh, directory), { mode: 0o755 });
  for (const [path, file] of files) {
    const target = join(fresh, path);
    await writeFile(target, file.data, { mode: 0o600 });
    const { user = -1 } = file;
    if (user !== -1 || group !== undefined) await chown(target, user, group ?? -1);
    // Set apart from the creation: that is subject to the process's umask. After the owner: who gets a file loses bits.
    await chmod(target, expectedMode(file, group));
  }
  if (group === undefined) return;
  for (const directory of ['', ...directories]) {
    await chown(join(fresh, directory), -1, group);
    await chmod(join(fresh, directory), 0o2755);
  }
}

/** The pod's group reads all of its files. */
export function expectedMode({ mode }: PayloadFile, group: number | undefined): number {
  return group === undefined ? mode : mode | 0o440;
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function linkVisible(dir: string, wanted: ReadonlySet<string>): Promise<void> {
  const present = (await readdir(dir)).filter((name) => !name.startsWith('..'));
  for (const name of wanted) {
    if (!present.includes(name)) await symlink(join(dataName, name), join(dir, name));
  }
  for (const name of present) {
    // What is no link of this writer was put there by somebody else, such as a directory for a missing subPath.
    if (!wanted.has(name) && (await isOwnLink(join(dir, name)))) await rm(join(dir, name), { force: true });
  }
}

async function isOwnLink(path: string): Promise<boolean> {
  return (await lstat(path)).isSymbolicLink() && (await readlink(path)).startsWith(`${dataName}/`);
}
