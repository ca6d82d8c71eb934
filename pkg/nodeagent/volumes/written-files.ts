/** Whether a volume's files are those that are wanted: an agent that comes after another leaves them alone then. */
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { readLastBytes } from '#nodeagent/files/regular-file.js';
import { dataName, expectedMode, versionPrefix } from '#nodeagent/volumes/atomic-writer.js';
import type { PayloadFile } from '#nodeagent/volumes/payload.js';

/** Files, contents, modes and owners as `writeAtomically` would make them. Never rejects: what cannot be read is to be written. */
export async function hasFiles(dir: string, files: ReadonlyMap<string, PayloadFile>, group?: number): Promise<boolean> {
  try {
    const version = await readlink(join(dir, dataName));
    if (!version.startsWith(versionPrefix) || version.includes('/')) return false;
    const root = join(dir, version);
    const present = (await readdir(root, { recursive: true, withFileTypes: true })).filter(
      (entry) => !entry.isDirectory(),
    );
    if (present.length !== files.size) return false;
    const visible = (await readdir(dir)).filter((name) => !name.startsWith('..'));
    const wanted = new Set([...files.keys()].map((path) => path.split('/')[0] ?? path));
    if (visible.length !== wanted.size || visible.some((name) => !wanted.has(name))) return false;
    for (const [path, file] of files) if (!(await isFile(join(root, path), file, group))) return false;
    return true;
  } catch {
    return false;
  }
}

async function isFile(path: string, file: PayloadFile, group: number | undefined): Promise<boolean> {
  const { data, user = 0 } = file;
  const stats = await lstat(path);
  if (stats.size !== data.length || stats.uid !== user || (stats.mode & 0o7777) !== expectedMode(file, group))
    return false;
  if (group !== undefined && stats.gid !== group) return false;
  return (await readLastBytes(path, data.length))?.equals(data) === true;
}
