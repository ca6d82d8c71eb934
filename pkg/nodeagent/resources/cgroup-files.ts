/** The file system of cgroups. */
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';

export interface CgroupFiles {
  /** Creates the directory and its parents if missing. */
  make(dir: string): Promise<void>;
  /** Throws EBUSY while it has processes or children, ENOENT if it does not exist. */
  remove(dir: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  /** Names of subdirectories; empty if the directory does not exist. */
  directories(dir: string): Promise<string[]>;
  /** Throws ENOENT if the file does not exist. */
  read(file: string): Promise<string>;
  /** Throws the kernel's error. */
  write(file: string, text: string): Promise<void>;
  /** Sends SIGKILL; does nothing if the process does not exist. */
  kill(pid: number): void;
}

/** Node's code of a system call's failure, such as `EBUSY`; empty for other errors. */
export function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

export const diskCgroupFiles: CgroupFiles = {
  async make(dir) {
    await mkdir(dir, { recursive: true });
  },
  remove: (dir) => rmdir(dir),
  exists: (path) =>
    stat(path).then(
      () => true,
      () => false,
    ),
  async directories(dir) {
    try {
      const entries = await readdir(dir, { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return [];
      throw error;
    }
  },
  read: (file) => readFile(file, 'utf8'),
  write: (file, text) => writeFile(file, text),
  kill(pid) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (errorCode(error) !== 'ESRCH') throw error;
    }
  },
};
