/** Links by which collectors of logs find each container's log: `<pod>_<namespace>_<container>-<id>.log`. */
import { mkdir, readdir, readlink, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Whose log it is. */
export interface LoggedContainer {
  readonly pod: string;
  readonly namespace: string;
  readonly container: string;
  readonly id: string;
}

/** Longer names are no names of files. */
const maxName = 255;
const suffix = '.log';

export function linkName({ pod, namespace, container, id }: LoggedContainer): string {
  return `${`${pod}_${namespace}_${container}-${id}`.slice(0, maxName - suffix.length)}${suffix}`;
}

export class LogLinks {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Nothing is made for a log that is not there. */
  async add(logged: LoggedContainer, logPath: string): Promise<void> {
    if (!(await exists(logPath))) return;
    await mkdir(this.#directory, { recursive: true, mode: 0o755 });
    const link = join(this.#directory, linkName(logged));
    await rm(link, { force: true });
    await symlink(logPath, link);
  }

  async remove(logged: LoggedContainer): Promise<void> {
    await rm(join(this.#directory, linkName(logged)), { force: true });
  }

  /** Removes the links to logs that are gone; those of `logsDirectory` only, as others may have theirs here. */
  async removeDead(logsDirectory: string): Promise<void> {
    const names = await readdir(this.#directory).catch(() => []);
    for (const name of names) {
      const link = join(this.#directory, name);
      const target = await readlink(link).catch(() => '');
      if (target.startsWith(`${logsDirectory}/`) && !(await exists(target))) await rm(link, { force: true });
    }
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
