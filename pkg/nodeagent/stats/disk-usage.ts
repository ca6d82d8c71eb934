/** What lies in a folder, as du(1) counts it. */
import { execFile } from 'node:child_process';
import type { Stats } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface DiskUsage {
  /** Blocks on disk, not lengths of files. */
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

/** A walk that takes longer is given up. */
const walkMs = 60_000;
/** Entries up to which a folder is walked here. Larger ones would hold up the agent: another process walks them. */
const maxEntries = 256;
const blockBytes = 512;

/**
 * What lies below each path, on the file system of that path; a file with several names counts once. Without the paths
 * that are gone, or so large that they could not be walked in time.
 */
export async function diskUsage(paths: readonly string[]): Promise<Map<string, DiskUsage>> {
  const found = new Map<string, DiskUsage>();
  const large: string[] = [];
  for (const path of paths) {
    const usage = await usageOfSmall(path);
    if (usage === 'large') large.push(path);
    else if (usage !== undefined) found.set(path, usage);
  }
  if (large.length === 0) return found;
  // One call cannot count both.
  const [bytes, inodes] = await Promise.all([du(['-B1'], large), du(['--inodes'], large)]);
  for (const [path, usedBytes] of bytes) {
    const inodesUsed = inodes.get(path);
    if (inodesUsed !== undefined) found.set(path, { usedBytes, inodesUsed });
  }
  return found;
}

/** Undefined for what is gone. */
async function usageOfSmall(root: string): Promise<DiskUsage | 'large' | undefined> {
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
      // It went while it was walked, or may not be read: the rest counts.
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
    // Files that vanish while it walks make it fail; what it has found counts.
    text = String((error as { stdout?: string }).stdout ?? '');
  }
  return new Map(
    text.split('\0').flatMap((line) => {
      const tab = line.indexOf('\t');
      return tab < 0 ? [] : [[line.slice(tab + 1), Number(line.slice(0, tab))] as const];
    }),
  );
}
