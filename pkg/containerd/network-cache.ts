/** What the network library keeps of each sandbox until it is removed from its network; killed sandboxes never are. */
import { readdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '#nodeagent/resources/cgroup-files.js';

/** The library's own folder, which all runtimes of a machine share. */
const defaultFolder = '/var/lib/cni/results';

/** Names of the files of a network's sandboxes: `<network>-<sandbox>-eth0`, and one for the loopback of each. Pure. */
export function resultsOf(names: readonly string[], network: string): string[] {
  const sandboxOf = (name: string): string | undefined =>
    name.startsWith(`${network}-`) ? /-([0-9a-f]{64})-[^-]+$/.exec(name)?.[1] : undefined;
  const sandboxes = new Set(names.flatMap((name) => sandboxOf(name) ?? []));
  return names.filter(
    (name) => sandboxOf(name) !== undefined || sandboxes.has(/^cni-loopback-([0-9a-f]{64})-lo$/.exec(name)?.[1] ?? ''),
  );
}

/** Removes the files of a network without sandboxes, and the folders when they are empty. */
export async function removeResults(network: string, folder = defaultFolder): Promise<void> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  for (const name of resultsOf(names, network)) await rm(join(folder, name), { force: true });
  if (await removedEmpty(folder)) await removedEmpty(dirname(folder));
}

/** False for a folder of other networks. */
async function removedEmpty(folder: string): Promise<boolean> {
  try {
    await rmdir(folder);
    return true;
  } catch (error) {
    if (!['ENOTEMPTY', 'ENOENT'].includes(errorCode(error))) throw error;
    return false;
  }
}
