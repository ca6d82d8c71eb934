/** CPU time as the kernel has counted it (proc(5)), in ms; it counts in ticks of 10 ms. */
import { readdirSync, readFileSync } from 'node:fs';

const tickMs = 10;
/** Flag of the kernel's own threads (`PF_KTHREAD`). */
const kernelThread = 0x200000;

export interface ProcessTimes {
  readonly pid: number;
  readonly parent: number;
  /** Of its own and of the children that it has waited for. */
  readonly cpuMs: number;
  readonly kernel: boolean;
}

/** One process out of the text of its `stat`. */
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
  /** In user and kernel mode, of all cores together; without interrupts, which count for nobody. */
  readonly busyMs: number;
  readonly stealMs: number;
}

/** All cores out of the text of `/proc/stat`. */
export function machineTimes(stat: string): MachineTimes {
  const [user = 0, nice = 0, system = 0, , , , , steal = 0] = stat
    .slice(0, stat.indexOf('\n'))
    .split(/\s+/)
    .slice(1)
    .map((ticks) => Number(ticks) * tickMs);
  return { busyMs: user + nice + system, stealMs: steal };
}

/** `root` and all that descend from it. */
export function descendants(all: readonly ProcessTimes[], root: number): ProcessTimes[] {
  const ofParent = new Map<number, ProcessTimes[]>();
  for (const one of all) ofParent.set(one.parent, [...(ofParent.get(one.parent) ?? []), one]);
  const found = all.filter(({ pid }) => pid === root);
  // Grows while it is walked.
  for (const { pid } of found) found.push(...(ofParent.get(pid) ?? []));
  return found;
}

export interface Times extends MachineTimes {
  /** Of the process `root`, of all that descend from it, and of the kernel's threads, which work for whoever asks. */
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
      // It has ended since.
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

/** CPU time of `root` and of all that descend from it. */
export function treeCpuMs(root: number): number {
  return sum(descendants(allProcesses(), root));
}

/** `root` and all that descend from it. */
export function treePids(root: number): number[] {
  return descendants(allProcesses(), root).map(({ pid }) => pid);
}
