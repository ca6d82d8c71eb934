/** The cgroup that this process is in. */
import { readFile } from 'node:fs/promises';

/** Its path; undefined for the root, which is the machine's. */
export async function ownCgroup(version: 1 | 2): Promise<string | undefined> {
  return parseOwnCgroup(await readFile('/proc/self/cgroup', 'utf8').catch(() => ''), version);
}

/** @param text Of `/proc/self/cgroup`: lines of a number, controllers and a path. */
export function parseOwnCgroup(text: string, version: 1 | 2): string | undefined {
  for (const [, controllers = '', path = ''] of text.matchAll(/^\d+:([^:\n]*):(.+)$/gm)) {
    const isThatOne = version === 2 ? controllers === '' : controllers.split(',').includes('memory');
    if (isThatOne) return path === '/' ? undefined : path;
  }
  return undefined;
}
