/** CPU time from the kernel (proc(5)) in ms, with a resolution of 10 ms. */
import { readdirSync, readFileSync } from 'node:fs';

const tickMs = 10;
/** The flag of kernel threads (`PF_KTHREAD`). */
const kernelThread = 0x200000;

export interface ProcessTimes {
  readonly pid: number;
  readonly parent: number;
  /** Includes waited-for children. */
  readonly cpuMs: number;
  readonly kernel: boolean;
}

/** Parses a process's `stat`. */
export function processTimes(stat: string): ProcessTimes {
  // The name in parentheses may contain anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return {
    pid: Number.parseInt(stat, 10),
    parent: Number(fields[1]),
    cpuMs: ticks * tickMs,
    kernel: (Number(fields[6]) & kernelThread) !== 0,
  };
}

export interface MachineTimes {
  /** User and kernel time of all cores, without interrupts. */
  readonly busyMs: number;
  readonly stealMs: number;
}

/** Parses the total of all cores from `/proc/stat`. */
export function machineTimes(stat: string): MachineTimes {
  const [user = 0, nice = 0, system = 0, , , , , steal = 0] = stat
    .slice(0, stat.indexOf('\n'))
    .split(/\s+/)
    .slice(1)
    .map((ticks) => Number(ticks) * tickMs);
  return { busyMs: user + nice + system, stealMs: steal };
}

/** `root` and its descendants. */
export function descendants(all: readonly ProcessTimes[], root: number): ProcessTimes[] {
  const ofParent = new Map<number, ProcessTimes[]>();
  for (const one of all) ofParent.set(one.parent, [...(ofParent.get(one.parent) ?? []), one]);
  const processes = all.filter(({ pid }) => pid === root);
  // The array grows during the iteration.
  for (const { pid } of processes) processes.push(...(ofParent.get(pid) ?? []));
  return processes;
}

export interface Times extends MachineTimes {
  /** CPU time of `root`, its descendants, and kernel threads, which may work for them. */
  readonly ownMs: number;
}

function allProcesses(): ProcessTimes[] {
  const all: ProcessTimes[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      all.push(processTimes(readFileSync(`/proc/${name}/stat`, 'utf8')));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // The process has ended.
      if (code !== 'ENOENT' && code !== 'ESRCH') throw error;
    }
  }
  return all;
}

const sum = (times: readonly ProcessTimes[]) => times.reduce((ms, { cpuMs }) => ms + cpuMs, 0);

export function timesOf(root: number): Times {
  const all = allProcesses();
  const kernel = all.filter((one) => one.kernel);
  return {
    ...machineTimes(readFileSync('/proc/stat', 'utf8')),
    ownMs: sum(descendants(all, root)) + sum(kernel),
  };
}

/** CPU time of `root` and its descendants. */
export function treeCpuMs(root: number): number {
  return sum(descendants(allProcesses(), root));
}

/** `root` and its descendants. */
export function treePids(root: number): number[] {
  return descendants(allProcesses(), root).map(({ pid }) => pid);
}
