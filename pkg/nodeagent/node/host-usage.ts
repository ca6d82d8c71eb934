/** Resource usage of the whole machine, from `/proc`. */
import { readFile } from 'node:fs/promises';
import { type InterfaceUsage, networkUsage } from '#nodeagent/node/network-usage.js';

export interface HostUsage {
  readonly cpuSeconds: number;
  readonly userSeconds: number;
  readonly systemSeconds: number;
  readonly swapBytes: number;
  /** Total minus free memory. */
  readonly memoryUsedBytes: number;
  /** Memory of processes, without caches and files. */
  readonly anonymousBytes: number;
  readonly physicalCores: number;
  readonly sockets: number;
  readonly network: readonly InterfaceUsage[];
  /** Device of the root file system: `/dev/sda1`, `overlay`. */
  readonly rootDevice: string;
  /** Block devices with mounts. */
  readonly disks: readonly DiskUsage[];
}

/** Counted since boot. */
export interface DiskUsage {
  /** `/dev/sda1`. */
  readonly device: string;
  readonly reads: DiskOperations;
  readonly writes: DiskOperations;
  /** Operations in progress. */
  readonly current: number;
  /** Time with operations in progress, and the same weighted by their number. */
  readonly busySeconds: number;
  readonly weightedSeconds: number;
}

export interface DiskOperations {
  readonly completed: number;
  /** Operations that were merged into another one. */
  readonly merged: number;
  /** 512 bytes each. */
  readonly sectors: number;
  readonly seconds: number;
}

const userHz = 100;

/** Undefined without Linux's `/proc`. */
export async function hostUsage(): Promise<HostUsage | undefined> {
  try {
    const [stat, memory, cpus] = await Promise.all(
      ['/proc/stat', '/proc/meminfo', '/proc/cpuinfo'].map((path) => readFile(path, 'utf8')),
    );
    const [network, mounts, disks] = await Promise.all([
      networkUsage('self'),
      readFile('/proc/self/mounts', 'utf8'),
      readFile('/proc/diskstats', 'utf8').catch(() => ''),
    ]);
    return { ...parseHostUsage(stat ?? '', memory ?? '', cpus ?? ''), network, ...parseDisks(mounts, disks) };
  } catch {
    return undefined;
  }
}

/** Parses `/proc/stat`, `/proc/meminfo` and `/proc/cpuinfo`. */
export function parseHostUsage(
  stat: string,
  memory: string,
  cpus: string,
): Omit<HostUsage, 'network' | 'rootDevice' | 'disks'> {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = (/^cpu\s+(.*)$/m.exec(stat)?.[1] ?? '')
    .split(' ')
    .map(Number);
  const sockets = new Set([...cpus.matchAll(/^physical id\s*: (\d+)/gm)].map(([, id]) => id));
  const cores = new Set(
    cpus.split(/\n\n/).flatMap((text) => {
      const socket = /^physical id\s*: (\d+)/m.exec(text)?.[1];
      const core = /^core id\s*: (\d+)/m.exec(text)?.[1];
      return core === undefined ? [] : [`${socket} ${core}`];
    }),
  );
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(memory)?.[1] ?? 0) * 1024;
  return {
    cpuSeconds: (user + nice + system + irq + softirq) / userHz,
    userSeconds: (user + nice) / userHz,
    systemSeconds: (system + irq + softirq) / userHz,
    swapBytes: kilobytes('SwapTotal'),
    memoryUsedBytes: kilobytes('MemTotal') - kilobytes('MemFree'),
    anonymousBytes: kilobytes('AnonPages'),
    physicalCores: cores.size,
    sockets: sockets.size,
  };
}

/** Parses `/proc/self/mounts` and `/proc/diskstats`. */
export function parseDisks(mounts: string, diskstats: string): Pick<HostUsage, 'rootDevice' | 'disks'> {
  const mounted = [...mounts.matchAll(/^(\S+) (\S+) /gm)].map(([, device = '', path]) => ({ device, path }));
  const devices = new Set(mounted.map(({ device }) => device));
  const disks = diskstats.split('\n').flatMap((line) => {
    const [, , name = '', ...fields] = line.trim().split(/\s+/);
    const device = `/dev/${name}`;
    if (!devices.has(device)) return [];
    const numbers = fields.map(Number);
    const at = (index: number) => numbers[index] ?? 0;
    const operations = (from: number): DiskOperations => ({
      completed: at(from),
      merged: at(from + 1),
      sectors: at(from + 2),
      seconds: at(from + 3) / 1000,
    });
    return [
      {
        device,
        reads: operations(0),
        writes: operations(4),
        current: at(8),
        busySeconds: at(9) / 1000,
        weightedSeconds: at(10) / 1000,
      },
    ];
  });
  // The last mount hides earlier ones.
  return { rootDevice: mounted.findLast(({ path }) => path === '/')?.device ?? '', disks };
}
