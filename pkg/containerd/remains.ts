/** What a containerd holds that does not end in order: its tasks' processes and network namespaces. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { containerdPaths } from '#containerd/containerd.js';
import { mountsOn, unmount } from '#nodeagent/files/mounts.js';

/** Where named network namespaces are mounted; `/var/run` is a link to `/run`. */
const namespaceFolder = '/run/netns/';

interface Task {
  /** The first process of the container; it may have ended. */
  readonly pid: number | undefined;
  /** The file that its network namespace is mounted on, for sandboxes that have one of their own. */
  readonly networkNamespace: string | undefined;
}

export interface Remains {
  readonly tasks: readonly Task[];
  readonly shims: readonly number[];
}

/** What there is of a data directory's containerd, whether that runs or not. */
export async function remainsOf(dir: string): Promise<Remains> {
  return { tasks: await tasksOf(dir), shims: await shimsOf(dir) };
}

async function tasksOf(dir: string): Promise<Task[]> {
  const bundles = join(containerdPaths(dir).stateDir, 'io.containerd.runtime.v2.task', 'k8s.io');
  const tasks: Task[] = [];
  for (const id of await namesIn(bundles)) {
    const pid = Number(await textOf(join(bundles, id, 'init.pid')));
    const cgroup = pid > 1 ? await textOf(`/proc/${pid}/cgroup`) : '';
    const networkNamespace = namespaceIn(await textOf(join(bundles, id, 'config.json')));
    // Another process may have its number by now, but none of another name is in the container's control group.
    tasks.push({ pid: cgroup.includes(id) ? pid : undefined, networkNamespace });
  }
  return tasks;
}

/** @param config The OCI runtime's configuration; one that was not written to its end names nothing. */
function namespaceIn(config: string): string | undefined {
  // The path is on one line of JSON without spaces; what was torn is still readable up to there.
  const path = /"type":"network","path":"\/(?:var\/)?run\/netns\/([^"/]+)"/.exec(config)?.[1];
  return path === undefined ? undefined : join(namespaceFolder, path);
}

/** Pids of the processes that hold the sandboxes of a data directory's containerd; they outlive it. */
export async function shimsOf(dir: string): Promise<number[]> {
  const { socket } = containerdPaths(dir);
  const found: number[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const args = (await textOf(`/proc/${pid}/cmdline`)).split('\0');
    if (args[0]?.includes('containerd-shim') === true && args.includes(socket)) found.push(Number(pid));
  }
  return found;
}

/** Kills what `remainsOf` found. */
export function killRemains({ tasks, shims }: Remains): void {
  for (const pid of [...tasks.map((task) => task.pid), ...shims]) {
    try {
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Removes the network namespaces, also those that something still uses or that are mounted several times. */
export async function removeNamespaces({ tasks }: Remains): Promise<void> {
  for (const { networkNamespace } of tasks) {
    if (networkNamespace === undefined) continue;
    for (const point of await mountsOn(networkNamespace)) await unmount(point, { lazy: true });
    await rm(networkNamespace, { force: true });
  }
}

/** Empty for what is not there any more. */
function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
