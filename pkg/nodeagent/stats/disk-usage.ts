/** Disk usage of directories, as du(1) counts it. */
import { execFile } from 'node:child_process';
import type { Stats } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface DiskUsage {
  /** Blocks on disk, not file lengths. */
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

/** Limit of one walk. */
const walkMs = 60_000;
/** Larger directories are walked by another process, since they would block the agent. */
const maxEntries = 256;
const blockBytes = 512;

/** Usage below each path, within its file system; hard links count once. Omits paths that are gone or take too long. */
export async function diskUsage(paths: readonly string[]): Promise<Map<string, DiskUsage>> {
  const usageByPath = new Map<string, DiskUsage>();
  const large: string[] = [];
  for (const path of paths) {
    const usage = await walkSmall(path);
    if (usage === 'large') large.push(path);
    else if (usage !== undefined) usageByPath.set(path, usage);
  }
  if (large.length === 0) return usageByPath;
  // du cannot count both in one call.
  const [bytes, inodes] = await Promise.all([du(['-B1'], large), du(['--inodes'], large)]);
  for (const [path, usedBytes] of bytes) {
    const inodesUsed = inodes.get(path);
    if (inodesUsed !== undefined) usageByPath.set(path, { usedBytes, inodesUsed });
  }
  return usageByPath;
}

/** Undefined if the directory is gone. */
async function walkSmall(root: string): Promise<DiskUsage | 'large' | undefined> {
  const top = await statOf(root);
  if (top === undefined) return undefined;
  const seen = new Set<number>();
  const folders = top.isDirectory() ? [root] : [];
  let [blocks, inodes] = [top.blocks, 1];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    try {
      for await (const { name } of await opendir(folder)) {
        if (inodes >= maxEntries) return 'large';
        const path = join(folder, name);
        const stat = await statOf(path);
        if (stat === undefined || stat.dev !== top.dev) continue;
        if (stat.isDirectory()) folders.push(path);
        else if (stat.nlink > 1) {
          if (seen.has(stat.ino)) continue;
          seen.add(stat.ino);
        }
        blocks += stat.blocks;
        inodes += 1;
      }
    } catch {
      // The entry disappeared or is unreadable: skip it.
    }
  }
  return { usedBytes: blocks * blockBytes, inodesUsed: inodes };
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch {
    return undefined;
  }
}

async function du(flags: readonly string[], paths: readonly string[]): Promise<Map<string, number>> {
  let text: string;
  try {
    const { stdout } = await run('du', ['-sx', '-0', ...flags, '--', ...paths], { timeout: walkMs });
    text = stdout;
  } catch (error) {
    // du fails if files vanish meanwhile; its partial output counts.
    text = String((error as { stdout?: string }).stdout ?? '');
  }
  return new Map(
    text.split('\0').flatMap((line) => {
      const tab = line.indexOf('\t');
      return tab < 0 ? [] : [[line.slice(tab + 1), Number(line.slice(0, tab))] as const];
    }),
  );
}
