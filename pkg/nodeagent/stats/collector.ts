/** What the node, its pods and their containers use: the runtime's counters, and those of the kernel where it has them. */

import { readFile } from 'node:fs/promises';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ContainerStats, PodSandboxStatus, RuntimeService } from '#nodeagent/cri/cri.js';
import type { FilesystemState } from '#nodeagent/node/filesystem-usage.js';
import type { HostUsage } from '#nodeagent/node/host-usage.js';
import type { Machine, MachineFacts } from '#nodeagent/node/machine.js';
import { type InterfaceUsage, networkUsage } from '#nodeagent/node/network-usage.js';
import type { CgroupHierarchy, SystemPaths } from '#nodeagent/resources/cgroup-settings.js';
import type { PodCgroups } from '#nodeagent/resources/cgroups.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import { isRunning, type RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';
import type { DeviceIO } from '#nodeagent/stats/block-io.js';
import { CgroupReader, type CgroupUsage } from '#nodeagent/stats/cgroup-usage.js';
import { LoadAverages, type OpenFiles, openFiles, type TaskStates, taskStates } from '#nodeagent/stats/process-stats.js';

export interface ContainerUsage {
  /** Empty for the sandbox. */
  readonly name: string;
  /** Of the runtime. */
  readonly id: string;
  /** Its cgroup. */
  readonly path: string;
  readonly image: string;
  readonly startedMs: number;
  readonly timestampMs: number;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  /** Of what it wrote into its own layer; undefined for the sandbox. */
  readonly writtenBytes: number | undefined;
  /** Undefined where there is no cgroup to be read. */
  readonly cgroup: CgroupUsage | undefined;
}

export interface PodUsage {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly path: string;
  readonly timestampMs: number;
  readonly cpuSeconds: number;
  readonly workingSetBytes: number;
  readonly cgroup: CgroupUsage | undefined;
  /** Containers that run; the sandbox among them where it has a cgroup. */
  readonly containers: readonly ContainerUsage[];
  /** Of its own network; none for pods in the network of the host. */
  readonly network: readonly InterfaceUsage[];
}

export interface SystemUsage {
  readonly name: string;
  readonly path: string;
  readonly cgroup: CgroupUsage;
}

export interface NodeUsage {
  readonly facts: MachineFacts;
  readonly timestampMs: number;
  /** Undefined for a node that is no machine. */
  readonly host: HostUsage | undefined;
  /** Its root. */
  readonly filesystem: FilesystemState | undefined;
  readonly cpuSeconds: number;
  readonly workingSetBytes: number;
  readonly pods: readonly PodUsage[];
  /** By the names of 1.24: the agent's own, `runtime` and `misc` where options name them, and `pods`, all together. */
  readonly system: readonly SystemUsage[];
  /** What the runtime counts, by container; those that have ended, too. */
  readonly stats: ReadonlyMap<string, ContainerStats>;
}

export interface CgroupDetails {
  readonly devices: readonly DeviceIO[];
  /** Of its processes. */
  readonly files: OpenFiles;
  readonly tasks: TaskStates;
  /** Tasks that ran lately, times a thousand. */
  readonly load: number;
}

/** Where it is measured. */
export interface UsageSources {
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly cri: Pick<RuntimeService, 'listContainerStats'>;
  readonly observer: Pick<RuntimeObserver, 'get'>;
  /** Absent where pods have none. */
  readonly cgroups?: Pick<PodCgroups, 'parentOf' | 'containerPath' | 'path'>;
  /** Absent for a node that is no machine. */
  readonly hierarchy?: CgroupHierarchy;
  readonly systemPaths?: SystemPaths;
}

export interface CollectorOptions {
  readonly node: UsageSources;
  readonly machine: Machine;
  readonly pods: () => readonly Pod[];
}

/** Pods looked at together: files are read beside each other, but not all at once. */
const batchSize = 8;

export class UsageCollector {
  readonly #options: CollectorOptions;
  readonly #cgroups: CgroupReader | undefined;
  readonly #loads = new LoadAverages();
  #collecting: Promise<NodeUsage> | undefined;

  constructor(options: CollectorOptions) {
    this.#options = options;
    const { hierarchy } = options.node;
    this.#cgroups = hierarchy === undefined ? undefined : new CgroupReader(hierarchy);
  }

  /** Measures now; those who ask meanwhile get the same. Throws CRIError when the runtime does not answer. */
  collect(): Promise<NodeUsage> {
    this.#collecting ??= this.#collect().finally(() => {
      this.#collecting = undefined;
    });
    return this.#collecting;
  }

  /** What takes longer to find out and not everybody wants: by the paths of the cgroups of these figures. */
  async details({ pods }: NodeUsage): Promise<ReadonlyMap<string, CgroupDetails>> {
    const cgroups = this.#cgroups;
    if (cgroups === undefined) return new Map();
    const measured = pods.flatMap(({ containers, ...pod }) => [pod, ...containers]);
    const paths = measured.flatMap(({ path, cgroup }) => (cgroup === undefined ? [] : [path]));
    const { clock } = this.#options.node;
    const found = new Map<string, CgroupDetails>();
    for (let i = 0; i < paths.length; i += batchSize) {
      await Promise.all(
        paths.slice(i, i + batchSize).map(async (path) => {
          const processes = await cgroups.processes(path);
          const [devices, files, tasks] = await Promise.all([
            cgroups.devices(path),
            openFiles(processes),
            taskStates(processes),
          ]);
          const load = this.#loads.next(path, tasks.running, clock.monotonic());
          found.set(path, { devices, files, tasks, load });
        }),
      );
    }
    this.#loads.forget(clock.monotonic());
    return found;
  }

  async #collect(): Promise<NodeUsage> {
    const { node, machine, pods } = this.#options;
    const stats = new Map((await node.cri.listContainerStats()).map((one) => [one.id, one]));
    const [facts, state] = await Promise.all([machine.facts(), machine.state()]);
    const used: PodUsage[] = [];
    const all = pods();
    for (let i = 0; i < all.length; i += batchSize) {
      const batch = await Promise.all(all.slice(i, i + batchSize).map((pod) => this.#ofPod(pod, stats)));
      used.push(...batch.filter((each) => each !== undefined));
    }
    const [host, filesystem] = await Promise.all([machine.usage(), machine.filesystem('/')]);
    return {
      facts,
      host,
      filesystem,
      timestampMs: node.clock.now(),
      cpuSeconds: host?.cpuSeconds ?? sum(used, ({ cpuSeconds }) => cpuSeconds),
      workingSetBytes:
        host === undefined
          ? sum(used, ({ workingSetBytes }) => workingSetBytes)
          : facts.memoryBytes - state.memoryAvailableBytes,
      pods: used,
      system: await this.#system(),
      stats,
    };
  }

  async #system(): Promise<SystemUsage[]> {
    const { cgroups, hierarchy, systemPaths, dialect } = this.#options.node;
    if (hierarchy === undefined) return [];
    const named = [
      [dialect.components.nodeAgent, systemPaths?.agent ?? (await ownCgroup(hierarchy.version))],
      ['runtime', systemPaths?.runtime],
      ['misc', systemPaths?.misc],
      ['pods', cgroups?.path],
    ] as const;
    const found = await Promise.all(
      named.map(async ([name, path]) => {
        const cgroup = path === undefined ? undefined : await this.#cgroups?.usage(path);
        return path === undefined || cgroup === undefined ? [] : [{ name, path, cgroup }];
      }),
    );
    return found.flat();
  }

  /** Undefined for pods of which nothing runs. */
  async #ofPod(pod: Pod, stats: ReadonlyMap<string, ContainerStats>): Promise<PodUsage | undefined> {
    const { node } = this.#options;
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    const runtime = node.observer.get(uid);
    if (runtime === undefined) return undefined;
    const path = node.cgroups?.parentOf(pod) ?? `/pod${uid}`;
    const pathOf = (id: string) => node.cgroups?.containerPath(pod, id) ?? `${path}/${id}`;
    const sandbox = runtime.sandboxes.find(({ state }) => state === 'SANDBOX_READY');
    const running = runtime.containers.filter((container) => isRunning(container));
    if (sandbox === undefined && running.length === 0) return undefined;
    const containers = await Promise.all(
      running.map((container) => this.#ofContainer(container, pathOf(container.id), stats.get(container.id))),
    );
    const ofSandbox = sandbox === undefined ? undefined : await this.#ofSandbox(sandbox, pathOf(sandbox.id));
    const cgroup = await this.#cgroups?.usage(path);
    return {
      uid,
      name,
      namespace,
      path,
      cgroup,
      timestampMs: node.clock.now(),
      cpuSeconds: cgroup?.cpu.totalSeconds ?? sum(containers, ({ cpuSeconds }) => cpuSeconds),
      workingSetBytes: cgroup?.memory.workingSetBytes ?? sum(containers, (each) => each.workingSetBytes),
      containers: ofSandbox === undefined ? containers : [...containers, ofSandbox],
      network: pod.spec.hostNetwork === true || sandbox === undefined ? [] : await this.#network(pathOf(sandbox.id)),
    };
  }

  async #ofContainer(
    container: RuntimeContainer,
    path: string,
    stats: ContainerStats | undefined,
  ): Promise<ContainerUsage> {
    const { node } = this.#options;
    const cgroup = await this.#cgroups?.usage(path);
    return {
      name: container.metadata.name,
      id: container.id,
      path,
      image: container.image,
      startedMs: container.startedAt,
      timestampMs: stats?.timestamp ?? node.clock.now(),
      cpuSeconds: cgroup?.cpu.totalSeconds ?? (stats?.usageCoreNanoSeconds ?? 0) / 1e9,
      memoryBytes: cgroup?.memory.usageBytes ?? stats?.usageBytes ?? 0,
      workingSetBytes: cgroup?.memory.workingSetBytes ?? stats?.workingSetBytes ?? 0,
      rssBytes: cgroup?.memory.rssBytes ?? stats?.rssBytes ?? 0,
      writtenBytes: stats?.writableLayerUsedBytes,
      cgroup,
    };
  }

  /** Runtimes count sandboxes in their cgroups only. */
  async #ofSandbox(sandbox: PodSandboxStatus, path: string): Promise<ContainerUsage | undefined> {
    const cgroup = await this.#cgroups?.usage(path);
    if (cgroup === undefined) return undefined;
    return {
      name: '',
      id: sandbox.id,
      path,
      image: '',
      startedMs: sandbox.createdAt,
      timestampMs: this.#options.node.clock.now(),
      cpuSeconds: cgroup.cpu.totalSeconds,
      memoryBytes: cgroup.memory.usageBytes,
      workingSetBytes: cgroup.memory.workingSetBytes,
      rssBytes: cgroup.memory.rssBytes,
      writtenBytes: undefined,
      cgroup,
    };
  }

  /** Seen from a process of the sandbox, which is in its network. */
  async #network(sandboxPath: string): Promise<InterfaceUsage[]> {
    const [process] = (await this.#cgroups?.processes(sandboxPath)) ?? [];
    return process === undefined ? [] : networkUsage(process);
  }
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}

/** Path of the cgroup that this process is in; undefined for the root, which is the machine's. */
async function ownCgroup(version: 1 | 2): Promise<string | undefined> {
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
