/** The file system that cgroups are. */
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';

export interface CgroupFiles {
  /** With its parents; nothing when it is there. */
  make(dir: string): Promise<void>;
  /** Throws EBUSY while it has processes or children, ENOENT when it is gone. */
  remove(dir: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  /** Names of what lies right below; none when there is no such directory. */
  directories(dir: string): Promise<string[]>;
  /** Throws ENOENT when there is no such file. */
  read(file: string): Promise<string>;
  /** Throws what the kernel says against it. */
  write(file: string, text: string): Promise<void>;
  /** SIGKILL; nothing when there is no such process. */
  kill(pid: number): void;
}

/** Node's name of a failure, such as `EBUSY`; empty for what is none of a system call. */
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
