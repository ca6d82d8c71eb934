/** Mounts of this machine: what there is, and how mounts are made and ended. */
import { execFile } from 'node:child_process';
import { type FileHandle, readFile, realpath, stat } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Mount {
  /** Where it is. */
  readonly dir: string;
  /** `ext4`, `xfs`, … */
  readonly type: string;
  readonly options: readonly string[];
}

async function mounts(): Promise<Mount[]> {
  const text = await readFile('/proc/self/mounts', 'utf8');
  return text.split('\n').flatMap((line) => {
    const [, dir, type, options] = line.split(' ');
    if (dir === undefined || type === undefined) return [];
    return [{ dir: decodeMountPath(dir), type, options: options?.split(',') ?? [] }];
  });
}

async function mountPoints(): Promise<string[]> {
  return (await mounts()).map(({ dir }) => dir);
}

/** The mount that a path is on; of several one over the other, the uppermost. Undefined when there is no such path. */
export async function mountOf(path: string): Promise<Mount | undefined> {
  const [real, all] = await Promise.all([realPath(path), mounts()]);
  if (real === undefined) return undefined;
  const around = all.filter(({ dir }) => dir === '/' || real === dir || real.startsWith(`${dir}/`));
  return around.reduce<Mount | undefined>(
    (best, each) => (best === undefined || each.dir.length >= best.dir.length ? each : best),
    undefined,
  );
}

/** The kernel writes spaces and the like as octal numbers. */
function decodeMountPath(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** Mount points at and below a directory, the deepest first; twice what is mounted over. None when it does not exist. */
export async function mountsBelow(dir: string): Promise<string[]> {
  const [real, points] = await Promise.all([realPath(dir), mountPoints()]);
  if (real === undefined) return [];
  const below = points.filter((path) => path === real || path.startsWith(`${real}/`));
  return below.sort((a, b) => b.length - a.length);
}

/** The kernel names mounts by paths without links. */
async function realPath(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The mount points that are this very path: as many as there are mounts one over the other. */
export async function mountsOn(path: string): Promise<string[]> {
  return (await mountPoints()).filter((point) => point === path);
}

export interface VirtualMount {
  /** A file system of the kernel, without a device: `tmpfs`, `hugetlbfs`. */
  readonly type: string;
  readonly dir: string;
  readonly options: readonly string[];
}

/** Mounts a file system at `dir`, unless there is one. */
export async function mountOnce({ type, dir, options }: VirtualMount): Promise<void> {
  if ((await mountsOn(dir)).length > 0) return;
  await run('mount', ['-t', type, ...(options.length === 0 ? [] : ['-o', options.join(',')]), type, dir]);
}

/** Gives the bind mount at `dir` options of its own, such as `ro`. */
export async function remountBind(dir: string, options: readonly string[]): Promise<void> {
  if (options.length > 0) await run('mount', ['-o', ['remount', 'bind', ...options].join(','), dir]);
}

/** A server that does not answer holds up umount(8) for ever; 1.24 ends the mount by force after this. */
const unmountTimeoutMs = 60_000;

/** @param options.lazy At once, even while it is in use: it is gone for good when nobody uses it any more. */
export async function unmount(dir: string, options: { lazy?: boolean } = {}): Promise<void> {
  const args = options.lazy === true ? ['-l', dir] : [dir];
  try {
    await run('umount', args, { timeout: unmountTimeoutMs, killSignal: 'SIGKILL' });
  } catch (error) {
    if ((error as { killed?: boolean }).killed !== true) throw error;
    await run('umount', ['-f', dir], { timeout: unmountTimeoutMs, killSignal: 'SIGKILL' });
  }
}

/** Ends the mount that lies on top at `dir`, lazily, unless it has ended since it was seen. */
export async function endMount(dir: string): Promise<void> {
  if ((await mountsOn(dir)).length > 0) await unmount(dir, { lazy: true });
}

/** The process may not mount: it lacks CAP_SYS_ADMIN. */
export class MountRefusedError extends Error {
  override readonly name = 'MountRefusedError';
}

/**
 * Mounts what a descriptor stands for at `target`, which is of the same kind (directory or file). Neither a name nor a
 * link that somebody changes meanwhile leads it elsewhere. What else is mounted there is ended first.
 * Throws MountRefusedError where mounting is not permitted.
 */
export async function bindMount(source: FileHandle, target: string): Promise<void> {
  const wanted = await source.stat();
  const isWanted = async () => {
    const found = await stat(target);
    return found.dev === wanted.dev && found.ino === wanted.ino;
  };
  for (const point of await mountsOn(target)) {
    if (await isWanted()) return;
    await unmount(point);
  }
  // The name of the descriptor is not to be resolved to one of a file: that could have been exchanged since.
  const from = `/proc/${process.pid}/fd/${source.fd}`;
  try {
    await run('mount', ['--no-canonicalize', '--bind', from, target]);
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    if (/permission denied|not permitted|must be superuser/i.test(stderr)) {
      throw new MountRefusedError('this process may not mount (it lacks CAP_SYS_ADMIN)', { cause: error });
    }
    throw error;
  }
  if (await isWanted()) return;
  await unmount(target);
  throw new Error(`${target} was to be another file than what is mounted there`);
}
