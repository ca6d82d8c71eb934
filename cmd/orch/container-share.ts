/**
 * What a machine that is a container may use: limits of the cgroup that it sees as the root of all. What the node's machine
 * has beyond that is reserved, so that the node does not give it out.
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

/** For the agent and the container runtime, which share the memory with the pods. */
const besidePods = 256 * 1024 ** 2;

/** Value of the node agent's `--system-reserved`; undefined where nothing is to be reserved. Pure. */
export function reservedBeyond(machine: Share, limits: Partial<Share>): string | undefined {
  const { memoryBytes = Number.POSITIVE_INFINITY, milliCpus = Number.POSITIVE_INFINITY } = limits;
  const parts: string[] = [];
  if (milliCpus < machine.milliCpus) parts.push(`cpu=${machine.milliCpus - milliCpus}m`);
  if (memoryBytes < machine.memoryBytes)
    parts.push(`memory=${Math.min(machine.memoryBytes - memoryBytes + besidePods, machine.memoryBytes)}`);
  return parts.length === 0 ? undefined : parts.join(',');
}

/** What the texts of a cgroup's files say; those that are not there are undefined. Pure. */
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

/** Below the mount point of cgroups, by their version. */
const limitFiles = {
  1: { cpu: 'cpu/cpu.cfs_quota_us', period: 'cpu/cpu.cfs_period_us', memory: 'memory/memory.limit_in_bytes' },
  2: { cpu: 'cpu.max', memory: 'memory.max' },
} as const;

/** What `--system-reserved` is to be here; undefined: nothing. */
export async function reservedHere(): Promise<string | undefined> {
  const version = await cgroupVersion();
  const texts: Record<string, string | undefined> = {};
  // The kernel's own root has no limits, and no such files.
  for (const file of Object.values(limitFiles[version]))
    texts[file] = await readFile(join(cgroupMountPoint, file), 'utf8').catch(() => undefined);
  const machine = { milliCpus: availableParallelism() * 1000, memoryBytes: totalmem() };
  return reservedBeyond(machine, limitsIn(texts, version));
}
