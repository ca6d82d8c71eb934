/** Small file systems for tests with full disks. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Why this machine cannot mount them; false if it can. */
export const noSmallDisks = process.getuid?.() === 0 ? false : 'needs root to mount a file system';

export interface SmallDisk {
  readonly bytes: number;
  readonly files: number;
}

/** Mounts a file system with limits of bytes and files at a directory. */
export async function mountSmallDisk(dir: string, { bytes, files }: SmallDisk): Promise<void> {
  await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes},nr_inodes=${files}`, 'tmpfs', dir]);
}

/** The directory of a file system with limits of bytes and files; unmounted after the test. */
export async function smallDisk(t: { teardown(fn: () => unknown): void }, disk: SmallDisk): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'disk-'));
  await mountSmallDisk(dir, disk);
  t.teardown(async () => {
    await run('umount', ['-l', dir]);
    await rm(dir, { recursive: true });
  });
  return dir;
}
