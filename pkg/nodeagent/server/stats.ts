/** `/stats/summary` of release 1.24: usage of the node, its pods, containers and volumes. */
import { claimNameOf } from '#api/core/v1/pod/claims.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { ContainerStats } from '#nodeagent/cri/cri.js';
import type { FilesystemState } from '#nodeagent/node/filesystem-usage.js';
import type { InterfaceUsage } from '#nodeagent/node/network-usage.js';
import { isRunning, type RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';
import type { AgentServerInput } from '#nodeagent/server/agent-server.js';
import type { CgroupUsage } from '#nodeagent/stats/cgroup-usage.js';
import type { ContainerUsage, NodeUsage, PodUsage, UsageCollector } from '#nodeagent/stats/collector.js';
import { CPURates } from '#nodeagent/stats/cpu-rates.js';
import type { DiskUsage } from '#nodeagent/stats/disk-usage.js';
import type { StorageMeter, StorageUsage } from '#nodeagent/stats/storage-meter.js';

/** The file system of images and writable layers. */
interface ImageFilesystem {
  readonly usedBytes: number;
  readonly inodesUsed: number;
  readonly state: FilesystemState | undefined;
}

/** The measurements of one response. */
interface Round {
  readonly usage: NodeUsage;
  readonly now: string;
  readonly nowMs: number;
  /** Members below are undefined if only CPU and memory are requested. */
  readonly storage: ReadonlyMap<string, StorageUsage> | undefined;
  readonly rootfs: FilesystemState | undefined;
  readonly images: ImageFilesystem | undefined;
}

/** Sources of the measurements. */
export interface SummarySources {
  readonly collector: UsageCollector;
  readonly storage: StorageMeter;
}

/** Volume types that use the node's own disk. */
const onDisk = new Set(['empty-dir', 'configmap', 'downward-api', 'git-repo']);

export class StatsSummary {
  readonly #input: AgentServerInput;
  readonly #collector: UsageCollector;
  readonly #storage: StorageMeter;
  readonly #rates = new CPURates();
  readonly #startedMs: number;

  constructor(input: AgentServerInput, { collector, storage }: SummarySources) {
    this.#input = input;
    this.#collector = collector;
    this.#storage = storage;
    this.#startedMs = input.node.clock.now();
  }

  /** Throws CRIError if the runtime does not answer. */
  async summary(onlyCpuAndMemory: boolean) {
    const { node, machine, pods } = this.#input;
    const all = pods.list();
    const usage = await this.#collector.collect();
    const nowMs = node.clock.now();
    const round: Round = {
      usage,
      nowMs,
      now: formatTime(nowMs),
      storage: onlyCpuAndMemory ? undefined : await this.#storage.usage(all),
      rootfs: onlyCpuAndMemory ? undefined : await machine.nodeFilesystem(),
      images: onlyCpuAndMemory ? undefined : await this.#images(),
    };
    const summary = { node: await this.#node(round), pods: all.map((pod) => this.#pod(pod, round)) };
    this.#rates.endRound();
    return summary;
  }

  async #images(): Promise<ImageFilesystem | undefined> {
    const { node, machine } = this.#input;
    const [first] = await node.cri.imageFsInfo();
    if (first === undefined) return undefined;
    const state = first.mountpoint === '' ? undefined : await machine.filesystem(first.mountpoint);
    return { usedBytes: first.usedBytes, inodesUsed: first.inodesUsed, state };
  }

  #cpu(key: string, time: string, { seconds, nowMs }: { seconds: number; nowMs: number }) {
    return {
      time,
      usageNanoCores: this.#rates.rate(key, seconds, nowMs),
      usageCoreNanoSeconds: Math.round(seconds * 1e9),
    };
  }

  async #node({ usage, now, nowMs, rootfs, images, storage }: Round) {
    const { nodeName } = this.#input.node;
    const { facts, host, cpuSeconds, workingSetBytes } = usage;
    const basic = {
      nodeName,
      systemContainers: usage.system.map(({ name, path, cgroup }) => ({
        name,
        startTime: formatTime(this.#startedMs),
        cpu: this.#cpu(`system ${path}`, now, { seconds: cgroup.cpu.totalSeconds, nowMs }),
        memory: cgroupMemory(cgroup, now),
      })),
      startTime: formatTime(this.#startedMs),
      cpu: this.#cpu('/', now, { seconds: cpuSeconds, nowMs }),
      memory: {
        time: now,
        availableBytes: Math.max(0, facts.memoryBytes - workingSetBytes),
        workingSetBytes,
        ...(host === undefined ? {} : { usageBytes: host.memoryUsedBytes, rssBytes: host.anonymousBytes }),
      },
    };
    if (storage === undefined) return basic;
    const state = await this.#input.machine.state();
    return {
      ...basic,
      ...network(host?.network ?? [], now),
      ...(rootfs === undefined ? {} : { fs: { ...filesystem(rootfs, now), usedBytes: rootfs.usedBytes } }),
      ...(images === undefined
        ? {}
        : {
            runtime: {
              imageFs: { ...filesystem(images.state, now), usedBytes: images.usedBytes, inodesUsed: images.inodesUsed },
            },
          }),
      rlimit: { time: now, maxpid: state.maxProcesses, curproc: state.processes },
    };
  }

  #pod(pod: Pod, round: Round) {
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    const { now, nowMs } = round;
    const used = round.usage.pods.find((each) => each.uid === uid);
    const storage = round.storage?.get(uid);
    const containers = this.#containers(pod, used, round);
    const basic = {
      podRef: { name, namespace, uid },
      startTime: pod.status?.startTime ?? now,
      containers: containers.map(({ stats }) => stats),
      ...(used === undefined
        ? {}
        : {
            cpu: this.#cpu(used.path, now, { seconds: used.cpuSeconds, nowMs }),
            memory: podMemory(used, now),
          }),
    };
    if (round.storage === undefined) return basic;
    const writable = containers.reduce((sum, { writtenBytes }) => sum + writtenBytes, 0);
    const files = containers.reduce((sum, { writtenInodes }) => sum + writtenInodes, 0);
    return {
      ...basic,
      ...network(used?.network ?? [], now),
      ...(storage === undefined ? {} : { volume: volumes(pod, storage, now) }),
      'ephemeral-storage': ephemeral(pod, { storage, writable, files }, round),
      ...(used?.cgroup === undefined ? {} : { process_stats: { process_count: processesOf(used) } }),
    };
  }

  #containers(pod: Pod, used: PodUsage | undefined, round: Round) {
    const { usage, now, nowMs, images, rootfs } = round;
    const all = round.storage !== undefined;
    const storage = round.storage?.get(pod.metadata.uid ?? '');
    const containerRuns = this.#input.node.observer.get(pod.metadata.uid ?? '')?.containers ?? [];
    return reportedContainers(containerRuns).flatMap((container) => {
      const stats = usage.stats.get(container.id);
      if (stats === undefined) return [];
      const measured = used?.containers.find(({ id }) => id === container.id);
      // Stats of exited containers have no timestamp.
      const time = stats.timestamp > 0 ? formatTime(stats.timestamp) : now;
      const seconds = measured?.cpuSeconds ?? stats.usageCoreNanoSeconds / 1e9;
      const logs = storage?.logs.get(stats.name);
      return [
        {
          writtenBytes: stats.writableLayerUsedBytes + (logs?.usedBytes ?? 0),
          writtenInodes: stats.writableLayerInodesUsed + (logs?.inodesUsed ?? 0),
          stats: {
            name: stats.name,
            startTime: formatTime(container.createdAt),
            cpu: this.#cpu(container.id, time, { seconds, nowMs }),
            memory: containerMemory(stats, measured, time),
            ...(all
              ? {
                  rootfs: {
                    ...filesystem(images?.state, time),
                    usedBytes: stats.writableLayerUsedBytes,
                    inodesUsed: stats.writableLayerInodesUsed,
                  },
                  logs: { ...filesystem(rootfs, time), ...diskUsed(logs) },
                }
              : {}),
          },
        },
      ];
    });
  }
}

/** For each name the running containers, else the newest, as in release 1.24. Takes newest first. */
function reportedContainers(containers: readonly RuntimeContainer[]): RuntimeContainer[] {
  const names = [...new Set(containers.map((container) => container.metadata.name))];
  return names.flatMap((name) => {
    const runs = containers.filter((container) => container.metadata.name === name);
    const running = runs.filter((container) => isRunning(container));
    return running.length > 0 ? running : runs.slice(0, 1);
  });
}

function faults(cgroup: CgroupUsage | undefined) {
  if (cgroup === undefined) return {};
  const { pageFaults, majorPageFaults } = cgroup.memory;
  return { pageFaults, majorPageFaults };
}

/** Only cgroups with a limit have available memory. */
function available(cgroup: CgroupUsage | undefined) {
  const limit = cgroup?.limits.memoryBytes;
  if (cgroup === undefined || limit === undefined) return {};
  return { availableBytes: Math.max(0, limit - cgroup.memory.workingSetBytes) };
}

/** Sum over containers and sandbox, since a pod's own cgroup has no processes. */
function processesOf({ containers }: PodUsage): number {
  return containers.reduce((sum, { cgroup }) => sum + (cgroup?.processes ?? 0), 0);
}

function cgroupMemory(cgroup: CgroupUsage, time: string) {
  const { usageBytes, workingSetBytes, rssBytes } = cgroup.memory;
  return { time, ...available(cgroup), usageBytes, workingSetBytes, rssBytes, ...faults(cgroup) };
}

function podMemory({ cgroup, workingSetBytes, containers }: PodUsage, time: string) {
  const usageBytes = cgroup?.memory.usageBytes ?? containers.reduce((sum, each) => sum + each.memoryBytes, 0);
  const rssBytes = cgroup?.memory.rssBytes ?? containers.reduce((sum, each) => sum + each.rssBytes, 0);
  return { time, ...available(cgroup), usageBytes, workingSetBytes, rssBytes, ...faults(cgroup) };
}

function containerMemory(stats: ContainerStats, measured: ContainerUsage | undefined, time: string) {
  return {
    time,
    ...available(measured?.cgroup),
    usageBytes: measured?.memoryBytes ?? stats.usageBytes,
    workingSetBytes: measured?.workingSetBytes ?? stats.workingSetBytes,
    rssBytes: measured?.rssBytes ?? stats.rssBytes,
    ...faults(measured?.cgroup),
  };
}

function filesystem(state: FilesystemState | undefined, time: string) {
  if (state === undefined) return { time };
  const { availableBytes, capacityBytes, inodesFree, inodes } = state;
  return { time, availableBytes, capacityBytes, inodesFree, inodes, inodesUsed: inodes - inodesFree };
}

function diskUsed(usage: DiskUsage | undefined) {
  return usage === undefined ? {} : { usedBytes: usage.usedBytes, inodesUsed: usage.inodesUsed };
}

/** The interface of the pod's own address is the main one, as in 1.24. */
function network(interfaces: readonly InterfaceUsage[], time: string) {
  const all = interfaces.map(({ name, received, transmitted }) => ({
    name,
    rxBytes: received.bytes,
    rxErrors: received.errors,
    txBytes: transmitted.bytes,
    txErrors: transmitted.errors,
  }));
  const main = all.find(({ name }) => name === 'eth0') ?? all[0];
  return main === undefined ? {} : { network: { time, ...main, interfaces: all } };
}

function volumes(pod: Pod, { volumes: measured }: StorageUsage, time: string) {
  return measured.map(({ name, filesystem: state, usedBytes, inodesUsed, health }) => {
    const volume = pod.spec.volumes?.find((each) => each.name === name);
    const claim = volume && claimNameOf(pod.metadata.name ?? '', volume);
    return {
      ...filesystem(state, time),
      usedBytes,
      inodesUsed,
      name,
      ...(claim === undefined ? {} : { pvcRef: { name: claim, namespace: pod.metadata.namespace } }),
      ...(health === undefined ? {} : { volumeHealthStats: { abnormal: health.abnormal } }),
    };
  });
}

interface Written {
  readonly storage: StorageUsage | undefined;
  readonly writable: number;
  readonly files: number;
}

function ephemeral(pod: Pod, { storage, writable, files }: Written, { rootfs, now }: Round) {
  const inMemory = new Set(
    pod.spec.volumes?.filter(({ emptyDir }) => emptyDir?.medium === 'Memory').map((v) => v.name),
  );
  const local = (storage?.volumes ?? []).filter(({ name, plugin }) => onDisk.has(plugin) && !inMemory.has(name));
  return {
    ...filesystem(rootfs, now),
    usedBytes: local.reduce((sum, { usedBytes }) => sum + usedBytes, writable),
    inodesUsed: local.reduce((sum, { inodesUsed }) => sum + inodesUsed, files),
  };
}
