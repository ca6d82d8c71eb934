/** Lists, creates and removes mounts of this machine. */
import { execFile } from 'node:child_process';
import { type FileHandle, readFile, realpath, stat } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Mount {
  /** The mount point. */
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

/** The mount that contains a path; the uppermost of stacked mounts. Undefined if the path does not exist. */
export async function mountOf(path: string): Promise<Mount | undefined> {
  const [real, all] = await Promise.all([realPath(path), mounts()]);
  if (real === undefined) return undefined;
  const around = all.filter(({ dir }) => dir === '/' || real === dir || real.startsWith(`${dir}/`));
  return around.reduce<Mount | undefined>(
    (best, each) => (best === undefined || each.dir.length >= best.dir.length ? each : best),
    undefined,
  );
}

/** The kernel writes spaces and some other characters as octal numbers. */
function decodeMountPath(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** Mount points at and below a directory, deepest first, one per stacked mount. Empty if it does not exist. */
export async function mountsBelow(dir: string): Promise<string[]> {
  const [real, points] = await Promise.all([realPath(dir), mountPoints()]);
  if (real === undefined) return [];
  const below = points.filter((path) => path === real || path.startsWith(`${real}/`));
  return below.sort((a, b) => b.length - a.length);
}

/** The kernel lists mounts by paths without links. */
async function realPath(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The mounts at exactly this path, one entry per stacked mount. */
export async function mountsOn(path: string): Promise<string[]> {
  return (await mountPoints()).filter((point) => point === path);
}

/**
 * Mount points elsewhere that show the same directory of the same file system as the mount at `dir`. Empty if nothing is
 * mounted there.
 */
export async function mountReferences(dir: string): Promise<string[]> {
  const entries = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').flatMap((line) => {
    const [, , device, root, point] = line.split(' ');
    return point === undefined ? [] : [{ source: `${device} ${root}`, point: decodeMountPath(point) }];
  });
  const source = entries.findLast(({ point }) => point === dir)?.source;
  if (source === undefined) return [];
  return entries.filter((each) => each.source === source && !each.point.startsWith(dir)).map(({ point }) => point);
}

export interface VirtualMount {
  /** A file system without a device: `tmpfs`, `hugetlbfs`. */
  readonly type: string;
  readonly dir: string;
  readonly options: readonly string[];
}

/** Mounts a file system at `dir` unless something is mounted there. */
export async function mountOnce({ type, dir, options }: VirtualMount): Promise<void> {
  if ((await mountsOn(dir)).length > 0) return;
  await run('mount', ['-t', type, ...(options.length === 0 ? [] : ['-o', options.join(',')]), type, dir]);
}

/** Sets options of the bind mount at `dir`, such as `ro`. */
export async function remountBind(dir: string, options: readonly string[]): Promise<void> {
  if (options.length > 0) await run('mount', ['-o', ['remount', 'bind', ...options].join(','), dir]);
}

/** Dead servers block umount(8) forever; as in 1.24, the mount is then removed by force. */
const unmountTimeoutMs = 60_000;

/** `options.lazy`: detaches at once; the file system is unmounted when it is no longer in use. */
export async function unmount(dir: string, options: { lazy?: boolean } = {}): Promise<void> {
  const args = options.lazy === true ? ['-l', dir] : [dir];
  try {
    await run('umount', args, { timeout: unmountTimeoutMs, killSignal: 'SIGKILL' });
  } catch (error) {
    if ((error as { killed?: boolean }).killed !== true) throw error;
    await run('umount', ['-f', dir], { timeout: unmountTimeoutMs, killSignal: 'SIGKILL' });
  }
}

/** Detaches the uppermost mount at `dir`, unless it is already gone. */
export async function endMount(dir: string): Promise<void> {
  if ((await mountsOn(dir)).length > 0) await unmount(dir, { lazy: true });
}

/** The process lacks CAP_SYS_ADMIN, which mounting needs. */
export class MountRefusedError extends Error {
  override readonly name = 'MountRefusedError';
}

/**
 * Bind-mounts an opened file or directory at `target`, which is of the same kind. Exchanged names and links cannot
 * redirect it. Other mounts at `target` are removed first. Throws MountRefusedError if mounting is not permitted.
 */
export async function bindMount(source: FileHandle, target: string): Promise<void> {
  const sourceStats = await source.stat();
  const isMounted = async () => {
    const targetStats = await stat(target);
    return targetStats.dev === sourceStats.dev && targetStats.ino === sourceStats.ino;
  };
  for (const point of await mountsOn(target)) {
    if (await isMounted()) return;
    await unmount(point);
  }
  // `--no-canonicalize`: resolving the descriptor's path to a file name could reach another file.
  const sourcePath = `/proc/${process.pid}/fd/${source.fd}`;
  try {
    await run('mount', ['--no-canonicalize', '--bind', sourcePath, target]);
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    if (/permission denied|not permitted|must be superuser/i.test(stderr)) {
      throw new MountRefusedError('this process may not mount (it lacks CAP_SYS_ADMIN)', { cause: error });
    }
    throw error;
  }
  if (await isMounted()) return;
  await unmount(target);
  throw new Error(`mounting at ${target} failed: another file is mounted there`);
}
