/** The pod range in the network's configuration of our containerd. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cniConfigFile } from '#containerd/config.js';

/** The last IPv4 pod range of a directory's runtime; undefined where it never got one. */
export async function lastPodCIDR(dir: string): Promise<string | undefined> {
  try {
    return podCIDROf(await readFile(join(dir, cniConfigFile), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Removes the range: the runtime has no network until the node agent sends a new range. */
export async function forgetPodCIDR(dir: string): Promise<void> {
  await rm(join(dir, cniConfigFile), { force: true });
}

/** The IPv4 range in a network's configuration; undefined for a malformed or truncated one. */
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
