/** Traces that pods and clusters leave on a machine, outside of the cluster's own data. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { layoutOf } from '#cluster/config/layout.js';
import { containerdPaths } from '#containerd/containerd.js';
import { mountsBelow } from '#nodeagent/files/mounts.js';
import { cgroupMountPoint } from '#nodeagent/resources/cgroup-tree.js';
import { nodeNames, processesOf } from '#test/e2e/observe.js';

const run = promisify(execFile);

/** Names in a folder; none where there is no folder. */
function entries(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

/** Folders of volumes and logs that belong to pods of the cluster's nodes. */
export async function podFolders(dataDir: string): Promise<string[]> {
  const paths: string[] = [];
  for (const node of nodeNames(dataDir)) {
    for (const folder of ['pods', 'logs']) {
      const path = join(layoutOf(dataDir).node(node), folder);
      paths.push(...(await entries(path)).map((name) => join(path, name)));
    }
  }
  return paths;
}

/** Mounts below the data directory that belong to pods. */
export function podMounts(dataDir: string): Promise<string[]> {
  return mountsBelow(join(dataDir, 'nodes'));
}

/** Parent cgroups, in every hierarchy, of the pods on the cluster's nodes. */
async function cgroupRoots(dataDir: string): Promise<string[]> {
  const hierarchies = (await entries(cgroupMountPoint)).map((name) => join(cgroupMountPoint, name));
  const roots = nodeNames(dataDir).map((name) => containerdPaths(layoutOf(dataDir).runtime(name)).cgroupRoot);
  const all = [cgroupMountPoint, ...hierarchies].flatMap((each) => roots.map((root) => join(each, root)));
  return all.filter((folder) => existsSync(folder));
}

/** Cgroups of pods on the cluster's nodes. */
export async function podCgroups(dataDir: string): Promise<string[]> {
  const paths: string[] = [];
  for (const root of await cgroupRoots(dataDir)) {
    for (const level of ['', 'burstable', 'besteffort']) {
      const folder = join(root, 'orchpods', level);
      const names = (await entries(folder)).filter((name) => name.startsWith('pod'));
      paths.push(...names.map((name) => join(folder, name)));
    }
  }
  return paths;
}

/** Addresses that the network of the cluster's first node has allocated. */
export async function leasedAddresses(dataDir: string): Promise<string[]> {
  const dir = layoutOf(dataDir).runtime(nodeNames(dataDir)[0] ?? '');
  const { bridge } = containerdPaths(dir);
  return (await entries(join(dir, 'ipam', bridge))).filter((name) => /^\d+(\.\d+){3}$/.test(name));
}

/** Network namespaces of the cluster's sandboxes, from the OCI specs that the runtime wrote for runc. */
export async function networkNamespaces(dataDir: string): Promise<string[]> {
  const { stateDir } = containerdPaths(layoutOf(dataDir).runtime(nodeNames(dataDir)[0] ?? ''));
  const bundles = join(stateDir, 'io.containerd.runtime.v2.task', 'k8s.io');
  const names = new Set<string>();
  for (const id of await entries(bundles)) {
    const text = await readFile(join(bundles, id, 'config.json'), 'utf8').catch(() => '{}');
    const config = JSON.parse(text) as { linux?: { namespaces?: { type: string; path?: string }[] } };
    const path = config.linux?.namespaces?.find(({ type }) => type === 'network')?.path;
    if (path?.startsWith('/var/run/netns/') === true) names.add(path.slice('/var/run/netns/'.length));
  }
  return [...names];
}

export interface Footprint {
  readonly processes: readonly string[];
  readonly mounts: readonly string[];
  readonly links: readonly string[];
  readonly rules: readonly string[];
  readonly namespaces: readonly string[];
  readonly cgroups: readonly string[];
}

/**
 * Processes and kernel objects that a stopped cluster has left behind.
 * @param ranges Beginnings of its addresses, which no other cluster uses.
 * @param namespaces Network namespaces that its sandboxes had.
 */
export async function footprint(
  dataDir: string,
  { ranges, namespaces }: { ranges: readonly string[]; namespaces: readonly string[] },
): Promise<Footprint> {
  const { bridge, stateDir } = containerdPaths(layoutOf(dataDir).runtime(nodeNames(dataDir)[0] ?? ''));
  const links = (await run('ip', ['-o', 'link'])).stdout.split('\n');
  const rules = (await run('iptables-save', [])).stdout.split('\n');
  const pinned = new Set(await entries('/var/run/netns'));
  return {
    processes: await processesOf(dataDir),
    mounts: [...(await mountsBelow(dataDir)), ...(await mountsBelow(stateDir))],
    links: links.filter((line) => line.includes(bridge)),
    // Rules that bear a network's name are that network's, whatever their addresses.
    rules: rules.filter(
      (line) =>
        line.includes(bridge) || (!line.includes('name: ') && ranges.some((range) => line.includes(` ${range}`))),
    ),
    namespaces: namespaces.filter((name) => pinned.has(name)),
    cgroups: await cgroupRoots(dataDir),
  };
}

export const nothing: Footprint = { processes: [], mounts: [], links: [], rules: [], namespaces: [], cgroups: [] };
