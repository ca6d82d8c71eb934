/** Inspects pods without the agent: through `ctr`, `/proc` and the files of cgroups. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { containerdPaths } from '#containerd/containerd.js';
import { cgroupVersion } from '#nodeagent/node/prerequisites.js';
import { cgroupMountPoint } from '#nodeagent/resources/cgroup-tree.js';
import type { World } from '#nodeagent/testing/scenarios.js';

const run = promisify(execFile);

/** Output of `ctr containers info` for a container or a sandbox. */
interface RuntimeView {
  readonly Spec: {
    readonly annotations: Readonly<Record<string, string>>;
    readonly process: { readonly noNewPrivileges?: boolean; readonly oomScoreAdj?: number };
    readonly linux: {
      readonly cgroupsPath: string;
      readonly maskedPaths?: readonly string[];
      readonly readonlyPaths?: readonly string[];
      readonly sysctl?: Readonly<Record<string, string>>;
    };
  };
  readonly Runtime: { readonly Name: string };
  readonly Extensions: Readonly<Record<string, { readonly value: string }>>;
}

/** The pods of a fixture as the runtime and the kernel have them. */
export class KernelView {
  readonly #dir: string;
  readonly #world: World;

  /** @param dir Directory of containerd and of the agent's files. */
  constructor(dir: string, world: World) {
    this.#dir = dir;
    this.#world = world;
  }

  /** The runtime's record of a container or a sandbox. */
  async view(id: string): Promise<RuntimeView> {
    const { socket } = containerdPaths(this.#dir);
    const { stdout } = await run('ctr', ['-a', socket, '-n', 'k8s.io', 'containers', 'info', id]);
    return JSON.parse(stdout) as RuntimeView;
  }

  /** The security context that the runtime got for a container, with the protocol's names. */
  async securityContext(id: string): Promise<Readonly<Record<string, unknown>>> {
    const { value = '' } = (await this.view(id)).Extensions['io.cri-containerd.container.metadata'] ?? {};
    return JSON.parse(Buffer.from(value, 'base64').toString()).Metadata.Config.linux.security_context;
  }

  /** ID of a container of the pod; by default, of its container `main`. */
  container(pod: string, name = 'main'): string {
    const status = this.#world.status(pod);
    const all = [...(status?.containerStatuses ?? []), ...(status?.ephemeralContainerStatuses ?? [])];
    return all.find((each) => each.name === name)?.containerID?.split('//')[1] ?? '';
  }

  async sandbox(pod: string): Promise<string> {
    const all = await this.#world.cri.listPodSandbox();
    return all.find(({ metadata }) => metadata.name === pod)?.id ?? '';
  }

  /** PID of a container's first process on this machine. */
  async pid(id: string): Promise<string> {
    const { stateDir } = containerdPaths(this.#dir);
    return readFile(join(stateDir, 'io.containerd.runtime.v2.task', 'k8s.io', id, 'init.pid'), 'utf8');
  }

  /** Content of a cgroup's file. `path`: relative to the cgroup of all pods. */
  async cgroupFile(controller: string, path: string, file: string): Promise<string> {
    const folder = (await cgroupVersion()) === 2 ? '' : controller;
    const { cgroupRoot } = containerdPaths(this.#dir);
    return (await readFile(join(cgroupMountPoint, folder, cgroupRoot, 'orchpods', path, file), 'utf8')).trim();
  }

  logDirectory(pod: string): string {
    return join(this.#dir, 'logs', `default_${pod}_${this.#world.uid(pod)}`, 'main');
  }
}
