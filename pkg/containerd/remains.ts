/** Processes and network namespaces of a containerd's tasks, for removal when it does not stop them itself. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { containerdPaths } from '#containerd/containerd.js';
import { mountsOn, unmount } from '#nodeagent/files/mounts.js';

/** Mount points of named network namespaces; `/var/run` is a link to `/run`. */
const namespaceFolder = '/run/netns/';

interface Task {
  /** The first process of the container; undefined when it has exited. */
  readonly pid: number | undefined;
  /** Mount point of its network namespace, for sandboxes with one of their own. */
  readonly networkNamespace: string | undefined;
}

export interface Remains {
  readonly tasks: readonly Task[];
  readonly shims: readonly number[];
}

/** Tasks and shims of a data directory's containerd, whether it is running or not. */
export async function remainsOf(dir: string): Promise<Remains> {
  return { tasks: await tasksOf(dir), shims: await shimsOf(dir) };
}

async function tasksOf(dir: string): Promise<Task[]> {
  const bundles = join(containerdPaths(dir).stateDir, 'io.containerd.runtime.v2.task', 'k8s.io');
  const tasks: Task[] = [];
  for (const id of await namesIn(bundles)) {
    const pid = Number(await readOrEmpty(join(bundles, id, 'init.pid')));
    const cgroup = pid > 1 ? await readOrEmpty(`/proc/${pid}/cgroup`) : '';
    const networkNamespace = namespaceIn(await readOrEmpty(join(bundles, id, 'config.json')));
    // The pid may belong to another process by now, but only the container's processes are in its control group.
    tasks.push({ pid: cgroup.includes(id) ? pid : undefined, networkNamespace });
  }
  return tasks;
}

/** @param config The OCI runtime's configuration, perhaps truncated. */
function namespaceIn(config: string): string | undefined {
  // Searches the text of the JSON, since a truncated file may still contain the path.
  const path = /"type":"network","path":"\/(?:var\/)?run\/netns\/([^"/]+)"/.exec(config)?.[1];
  return path === undefined ? undefined : join(namespaceFolder, path);
}

/** Pids of the shims that hold the sandboxes of a data directory's containerd; they outlive it. */
export async function shimsOf(dir: string): Promise<number[]> {
  const { socket } = containerdPaths(dir);
  const pids: number[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const args = (await readOrEmpty(`/proc/${pid}/cmdline`)).split('\0');
    if (args[0]?.includes('containerd-shim') === true && args.includes(socket)) pids.push(Number(pid));
  }
  return pids;
}

/** Kills the processes of tasks and shims. */
export function killRemains({ tasks, shims }: Remains): void {
  for (const pid of [...tasks.map((task) => task.pid), ...shims]) {
    try {
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Removes the network namespaces, also those that are in use or mounted several times. */
export async function removeNamespaces({ tasks }: Remains): Promise<void> {
  for (const { networkNamespace } of tasks) {
    if (networkNamespace === undefined) continue;
    for (const point of await mountsOn(networkNamespace)) await unmount(point, { lazy: true });
    await rm(networkNamespace, { force: true });
  }
}

/** Empty for a missing file. */
function readOrEmpty(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
