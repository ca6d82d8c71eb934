/**
 * Resources of a machine that is a container: the limits of its root cgroup. The machine's other resources are reserved, so
 * that the node does not offer them.
 */
import { readFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { cgroupVersion } from '#nodeagent/node/prerequisites.js';
import { cgroupMountPoint } from '#nodeagent/resources/cgroup-tree.js';

export interface Share {
  /** In thousandths of a core. */
  readonly milliCpus: number;
  readonly memoryBytes: number;
}

/** Memory of the node agent and the container runtime; bytes. */
const ownMemory = 256 * 1024 ** 2;

/** Value of the node agent's `--system-reserved`; undefined where the limits reserve nothing. Pure. */
export function reservedBeyond(machine: Share, limits: Partial<Share>): string | undefined {
  const { memoryBytes = Number.POSITIVE_INFINITY, milliCpus = Number.POSITIVE_INFINITY } = limits;
  const parts: string[] = [];
  if (milliCpus < machine.milliCpus) parts.push(`cpu=${machine.milliCpus - milliCpus}m`);
  if (memoryBytes < machine.memoryBytes)
    parts.push(`memory=${Math.min(machine.memoryBytes - memoryBytes + ownMemory, machine.memoryBytes)}`);
  return parts.length === 0 ? undefined : parts.join(',');
}

/** Parses the files of a cgroup; missing ones are undefined. Pure. */
export function limitsIn(texts: Readonly<Record<string, string | undefined>>, version: 1 | 2): Partial<Share> {
  const numbers = (file: string) => (texts[file] ?? '').trim().split(/\s+/).map(Number);
  const { cpu } = limitFiles[version];
  const [quota = 0, period = 0] =
    version === 2 ? numbers(cpu) : [...numbers(cpu), ...numbers(limitFiles[version].period)];
  const [memoryBytes = 0] = numbers(limitFiles[version].memory);
  return {
    ...(quota > 0 && period > 0 ? { milliCpus: Math.floor((quota * 1000) / period) } : {}),
    ...(memoryBytes > 0 ? { memoryBytes } : {}),
  };
}

/** Files below the mount point of cgroups, by their version. */
const limitFiles = {
  1: { cpu: 'cpu/cpu.cfs_quota_us', period: 'cpu/cpu.cfs_period_us', memory: 'memory/memory.limit_in_bytes' },
  2: { cpu: 'cpu.max', memory: 'memory.max' },
} as const;

/** Value of `--system-reserved` on this machine; undefined where nothing is reserved. */
export async function reservedHere(): Promise<string | undefined> {
  const version = await cgroupVersion();
  const texts: Record<string, string | undefined> = {};
  // The kernel's root cgroup has no limits, and no such files.
  for (const file of Object.values(limitFiles[version]))
    texts[file] = await readFile(join(cgroupMountPoint, file), 'utf8').catch(() => undefined);
  const machine = { milliCpus: availableParallelism() * 1000, memoryBytes: totalmem() };
  return reservedBeyond(machine, limitsIn(texts, version));
}
