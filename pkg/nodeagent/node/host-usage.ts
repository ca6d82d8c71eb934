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
}

const userHz = 100;

/** Undefined where there is no `/proc` of Linux. */
export async function hostUsage(): Promise<HostUsage | undefined> {
  try {
    const [stat, memory, cpus] = await Promise.all(
      ['/proc/stat', '/proc/meminfo', '/proc/cpuinfo'].map((path) => readFile(path, 'utf8')),
    );
    return { ...parseHostUsage(stat ?? '', memory ?? '', cpus ?? ''), network: await networkUsage('self') };
  } catch {
    return undefined;
  }
}

/** The texts of `/proc/stat`, `/proc/meminfo` and `/proc/cpuinfo`. */
export function parseHostUsage(stat: string, memory: string, cpus: string): Omit<HostUsage, 'network'> {
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
