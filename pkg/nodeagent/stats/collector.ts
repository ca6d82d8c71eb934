/** Measures usage of the node, its pods and containers, from the kernel's counters if available, else the runtime's. */

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
import {
  LoadAverages,
  type OpenFiles,
  openFiles,
  type TaskStates,
  taskStates,
} from '#nodeagent/stats/process-stats.js';

export interface ContainerUsage {
  /** Empty for the sandbox. */
  readonly name: string;
  /** The runtime's ID. */
  readonly id: string;
  /** Path of its cgroup. */
  readonly path: string;
  readonly image: string;
  readonly startedMs: number;
  readonly timestampMs: number;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  /** Size of its writable layer; undefined for the sandbox. */
  readonly writtenBytes: number | undefined;
  /** Undefined if its cgroup cannot be read. */
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
  /** Running containers; includes the sandbox if it has a cgroup. */
  readonly containers: readonly ContainerUsage[];
  /** Interfaces of its own network; empty with the host's network. */
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
  /** Undefined for simulated nodes. */
  readonly host: HostUsage | undefined;
  /** The root file system. */
  readonly filesystem: FilesystemState | undefined;
  readonly cpuSeconds: number;
  readonly workingSetBytes: number;
  readonly pods: readonly PodUsage[];
  /** Named as in 1.24: the agent's cgroup, `runtime` and `misc` if options name them, and `pods`, the total. */
  readonly system: readonly SystemUsage[];
  /** The runtime's stats by container ID; includes exited containers. */
  readonly stats: ReadonlyMap<string, ContainerStats>;
}

export interface CgroupDetails {
  readonly devices: readonly DeviceIO[];
  /** Open files of its processes. */
  readonly files: OpenFiles;
  readonly tasks: TaskStates;
  /** Average of running tasks × 1000. */
  readonly load: number;
}

/** Sources of the measurements. */
export interface UsageSources {
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly cri: Pick<RuntimeService, 'listContainerStats'>;
  readonly observer: Pick<RuntimeObserver, 'get'>;
  /** Absent if pods have no cgroups. */
  readonly cgroups?: Pick<PodCgroups, 'parentOf' | 'containerPath' | 'path'>;
  /** Absent for simulated nodes. */
  readonly hierarchy?: CgroupHierarchy;
  readonly systemPaths?: SystemPaths;
}

export interface CollectorOptions {
  readonly node: UsageSources;
  readonly machine: Machine;
  readonly pods: () => readonly Pod[];
}

/** Pods measured concurrently. */
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

  /** Measures now; concurrent calls share one result. Throws CRIError if the runtime does not answer. */
  collect(): Promise<NodeUsage> {
    this.#collecting ??= this.#collect().finally(() => {
      this.#collecting = undefined;
    });
    return this.#collecting;
  }

  /** Slower measurements that only some callers need, by cgroup path. */
  async details({ pods }: NodeUsage): Promise<ReadonlyMap<string, CgroupDetails>> {
    const cgroups = this.#cgroups;
    if (cgroups === undefined) return new Map();
    const measured = pods.flatMap(({ containers, ...pod }) => [pod, ...containers]);
    const paths = measured.flatMap(({ path, cgroup }) => (cgroup === undefined ? [] : [path]));
    const { clock } = this.#options.node;
    const detailsByPath = new Map<string, CgroupDetails>();
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
          detailsByPath.set(path, { devices, files, tasks, load });
        }),
      );
    }
    this.#loads.forget(clock.monotonic());
    return detailsByPath;
  }

  async #collect(): Promise<NodeUsage> {
    const { node, machine, pods } = this.#options;
    const stats = new Map((await node.cri.listContainerStats()).map((one) => [one.id, one]));
    const [facts, state] = await Promise.all([machine.facts(), machine.state()]);
    const used: PodUsage[] = [];
    const all = pods();
    for (let i = 0; i < all.length; i += batchSize) {
      const batch = await Promise.all(all.slice(i, i + batchSize).map((pod) => this.#podUsage(pod, stats)));
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
    const usages = await Promise.all(
      named.map(async ([name, path]) => {
        const cgroup = path === undefined ? undefined : await this.#cgroups?.usage(path);
        return path === undefined || cgroup === undefined ? [] : [{ name, path, cgroup }];
      }),
    );
    return usages.flat();
  }

  /** Undefined for pods without running containers or sandbox. */
  async #podUsage(pod: Pod, stats: ReadonlyMap<string, ContainerStats>): Promise<PodUsage | undefined> {
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
      running.map((container) => this.#containerUsage(container, pathOf(container.id), stats.get(container.id))),
    );
    const sandboxUsage = sandbox === undefined ? undefined : await this.#sandboxUsage(sandbox, pathOf(sandbox.id));
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
      containers: sandboxUsage === undefined ? containers : [...containers, sandboxUsage],
      network: pod.spec.hostNetwork === true || sandbox === undefined ? [] : await this.#network(pathOf(sandbox.id)),
    };
  }

  async #containerUsage(
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

  /** The runtime reports no stats of sandboxes, so only their cgroup counts. */
  async #sandboxUsage(sandbox: PodSandboxStatus, path: string): Promise<ContainerUsage | undefined> {
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

  /** Reads the network of a process of the sandbox. */
  async #network(sandboxPath: string): Promise<InterfaceUsage[]> {
    const [process] = (await this.#cgroups?.processes(sandboxPath)) ?? [];
    return process === undefined ? [] : networkUsage(process);
  }
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}

/** Path of this process's cgroup; undefined for the root cgroup, which is the whole machine's. */
async function ownCgroup(version: 1 | 2): Promise<string | undefined> {
  return parseOwnCgroup(await readFile('/proc/self/cgroup', 'utf8').catch(() => ''), version);
}

/** `text`: of `/proc/self/cgroup`, lines of `number:controllers:path`. */
export function parseOwnCgroup(text: string, version: 1 | 2): string | undefined {
  for (const [, controllers = '', path = ''] of text.matchAll(/^\d+:([^:\n]*):(.+)$/gm)) {
    const matches = version === 2 ? controllers === '' : controllers.split(',').includes('memory');
    if (matches) return path === '/' ? undefined : path;
  }
  return undefined;
}
