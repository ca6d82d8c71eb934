/** Storage of a PKI's files: a directory, or memory for clusters in one process. */
import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface NewFile {
  readonly name: string;
  readonly text: string;
  /** 0o600 for secrets. */
  readonly mode: number;
}

export interface FileStore {
  /** Text of a file, undefined when there is none. */
  read(name: string): Promise<string | undefined>;
  /** Replaces the file in one step: readers see the old text or the new one. `mode` is 0o600 for secrets. */
  write(name: string, text: string, mode: number): Promise<void>;
  /** Replaces files that belong together, in this order and at almost the same time, each in one step. */
  writeAll(files: readonly NewFile[]): Promise<void>;
  /** Path for options that take a file name; undefined for a store without files. */
  path(name: string): string | undefined;
}

/** Files below `directory`, which is created when needed. Throws the file system's errors. */
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
    write: (name, text, mode) => replaceFiles([{ path: join(directory, name), text, mode }]),
    writeAll: (files) =>
      replaceFiles(files.map(({ name, text, mode }) => ({ path: join(directory, name), text, mode }))),
    path: (name) => join(directory, name),
  };
}

/** Writes beside the target, syncs, and renames over it, so that a crash leaves the old file or the new one. */
export async function writeFileAtomic(target: string, text: string, mode: number): Promise<void> {
  await replaceFiles([{ path: target, text, mode }]);
}

/** Writes and syncs all temporary files before the first rename. */
async function replaceFiles(files: readonly { path: string; text: string; mode: number }[]): Promise<void> {
  const staged = files.map(({ path, ...file }) => ({ ...file, path, temporary: `${path}.${randomUUID()}.tmp` }));
  try {
    for (const { path, temporary, text, mode } of staged) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeSynced(temporary, text, mode);
    }
    for (const { path, temporary } of staged) await rename(temporary, path);
  } catch (error) {
    for (const { temporary } of staged) await rm(temporary, { force: true });
    throw error;
  }
}

async function writeSynced(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
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
    writeAll: (written) => {
      for (const { name, text } of written) files.set(name, text);
      return Promise.resolve();
    },
    path: () => undefined,
  };
}
