/** Where a PKI keeps its files: a directory, or memory for clusters that live in one process only. */
import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface FileStore {
  /** Text of a file, undefined when there is none. */
  read(name: string): Promise<string | undefined>;
  /** Replaces the file in one step: readers see the old text or the new one. `mode` is 0o600 for secrets. */
  write(name: string, text: string, mode: number): Promise<void>;
  /** What to put into options that want a file name; undefined for a store without files. */
  path(name: string): string | undefined;
}

/** Files below `directory`, which is made when needed. Throws the file system's errors. */
export function directoryStore(directory: string): FileStore {
  return {
    async read(name) {
      try {
        return await readFile(join(directory, name), 'utf8');
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
        throw error;
      }
    },
    async write(name, text, mode) {
      const target = join(directory, name);
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      await writeFileAtomic(target, text, mode);
    },
    path: (name) => join(directory, name),
  };
}

/** Writes beside the target, syncs, and renames over it, so that a crash leaves the old file or the new one. */
export async function writeFileAtomic(target: string, text: string, mode: number): Promise<void> {
  const temporary = `${target}.${randomUUID()}.tmp`;
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Keeps everything in memory, in `files`. */
export function memoryFileStore(files = new Map<string, string>()): FileStore {
  return {
    read: (name) => Promise.resolve(files.get(name)),
    write: (name, text) => {
      files.set(name, text);
      return Promise.resolve();
    },
    path: () => undefined,
  };
}
