/** Links by which log collectors find the logs of containers: `<pod>_<namespace>_<container>-<id>.log`. */
import { mkdir, readdir, readlink, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';

/** The container of a log. */
export interface LoggedContainer {
  readonly pod: string;
  readonly namespace: string;
  readonly container: string;
  readonly id: string;
}

/** Limit of file names. */
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

  /** Does nothing if the log does not exist. */
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

  /** Removes dangling links into `logsDirectory`; other links may belong to other programs. */
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
