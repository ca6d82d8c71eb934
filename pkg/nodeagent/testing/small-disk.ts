/** Small file systems for tests with full disks. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Why this machine cannot mount them; false if it can. */
export const noSmallDisks = process.getuid?.() === 0 ? false : 'needs root to mount a file system';

/** The directory of a file system with limits of bytes and files; unmounted after the test. */
export async function smallDisk(
  t: { teardown(fn: () => unknown): void },
  { bytes, files }: { readonly bytes: number; readonly files: number },
): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'disk-'));
  await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes},nr_inodes=${files}`, 'tmpfs', dir]);
  t.teardown(async () => {
    await run('umount', ['-l', dir]);
    await rm(dir, { recursive: true });
  });
  return dir;
}
