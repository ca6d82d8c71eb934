/** What the whole machine uses, out of `/proc`. */
import { readFile } from 'node:fs/promises';
import { type InterfaceUsage, networkUsage } from '#nodeagent/node/network-usage.js';

export interface HostUsage {
  readonly cpuSeconds: number;
  readonly userSeconds: number;
  readonly systemSeconds: number;
  readonly swapBytes: number;
  /** All that is not free. */
  readonly memoryUsedBytes: number;
  /** Of processes, without caches and files. */
  readonly anonymousBytes: number;
  readonly physicalCores: number;
  readonly sockets: number;
  readonly network: readonly InterfaceUsage[];
  /** What the root file system is on: `/dev/sda1`, `overlay`. */
  readonly rootDevice: string;
  /** Block devices that something is mounted from. */
  readonly disks: readonly DiskUsage[];
}

/** Since the machine was started. */
export interface DiskUsage {
  /** `/dev/sda1`. */
  readonly device: string;
  readonly reads: DiskOperations;
  readonly writes: DiskOperations;
  /** Operations under way. */
  readonly current: number;
  /** While there was any, and the same times how many there were. */
  readonly busySeconds: number;
  readonly weightedSeconds: number;
}

export interface DiskOperations {
  readonly completed: number;
  /** Done together with another one. */
  readonly merged: number;
  /** Of 512 bytes. */
  readonly sectors: number;
  readonly seconds: number;
}

const userHz = 100;

/** Undefined where there is no `/proc` of Linux. */
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

/** The texts of `/proc/stat`, `/proc/meminfo` and `/proc/cpuinfo`. */
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

/** The texts of `/proc/self/mounts` and `/proc/diskstats`. */
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
  // The last one covers those before.
  return { rootDevice: mounted.findLast(({ path }) => path === '/')?.device ?? '', disks };
}
