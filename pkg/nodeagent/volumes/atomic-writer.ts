/**
 * Writes the files of a volume so that readers see either all old files or all new ones: the files are in their own
 * directory, `..data` links to it, and visible names link through `..data`. Layout of release 1.24
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

/** Link to the current directory of files. */
export const dataName = '..data';
/** Prefix of the directories of files, old and new. */
export const versionPrefix = '..v';

/** `group`: owner of all files and directories (`fsGroup`), with read access. */
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
    // Remove leftovers of a killed writer or of other programs.
    await rm(next, { recursive: true, force: true });
    await symlink(name, next);
    if (await isDirectory(join(dir, dataName))) await rm(join(dir, dataName), { recursive: true });
    await rename(next, join(dir, dataName));
  } catch (error) {
    // Otherwise retries on a full disk would fill it with leftovers.
    await rm(fresh, { recursive: true, force: true });
    await rm(next, { force: true });
    throw error;
  }
  // Before the links: on a full disk they may need the space of the old files.
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
    // Not at creation, because of the process's umask. After chown, which clears bits.
    await chmod(target, expectedMode(file, group));
  }
  if (group === undefined) return;
  for (const directory of ['', ...directories]) {
    await chown(join(fresh, directory), -1, group);
    await chmod(join(fresh, directory), 0o2755);
  }
}

/** The pod's group can read all files. */
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

async function linkVisible(dir: string, names: ReadonlySet<string>): Promise<void> {
  const present = (await readdir(dir)).filter((name) => !name.startsWith('..'));
  for (const name of names) {
    if (!present.includes(name)) await symlink(join(dataName, name), join(dir, name));
  }
  for (const name of present) {
    // Keep entries of other programs, such as a directory for a missing subPath.
    if (!names.has(name) && (await isOwnLink(join(dir, name)))) await rm(join(dir, name), { force: true });
  }
}

async function isOwnLink(path: string): Promise<boolean> {
  return (await lstat(path)).isSymbolicLink() && (await readlink(path)).startsWith(`${dataName}/`);
}
