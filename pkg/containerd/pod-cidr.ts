/** The addresses of pods that a containerd of one's own was told, as its network's configuration has them. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cniConfigFile } from '#containerd/config.js';

/** The IPv4 range of pods that the runtime of a directory was told last; undefined where it never was. */
export async function lastPodCIDR(dir: string): Promise<string | undefined> {
  try {
    return podCIDROf(await readFile(join(dir, cniConfigFile), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The runtime of a directory has no network until it is told the range of pods anew. */
export async function forgetPodCIDR(dir: string): Promise<void> {
  await rm(join(dir, cniConfigFile), { force: true });
}

/** The range of IPv4 in a network's configuration; undefined for what is none, as one that was not written to its end. */
function podCIDROf(config: string): string | undefined {
  try {
    const { plugins } = JSON.parse(config) as { plugins: { ipam?: { ranges: { subnet: string }[][] } }[] };
    const subnets = (plugins[0]?.ipam?.ranges ?? []).flat().map(({ subnet }) => subnet);
    return subnets.find((subnet) => !subnet.includes(':'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
