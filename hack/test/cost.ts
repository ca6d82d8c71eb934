/** What tests cost: the time of processors and the time on the clock. */
import { readFileSync } from 'node:fs';
import { machineTimes } from '#test/bench/machine/proc.js';

export interface Cost {
  readonly name: string;
  readonly cpuSeconds: number;
  readonly seconds: number;
}

/** Linux counts in hundredths of a second whatever its own clock does. */
const ticksPerSecond = 100;

/**
 * Processor time of children, each with what it waited for itself: not with what it left to the system, such as
 * containers. Node.js has it for the process itself only. 0 where the system does not tell.
 */
export class ChildrenCpu {
  /** What ended before this program began is not its own: the script that became it has built everything. */
  #counted = countedSeconds();

  /** In seconds, of children that ended since the last call: of one, when it is called as each of them ends. */
  takeSeconds(): number {
    const before = this.#counted;
    this.#counted = countedSeconds();
    return this.#counted - before;
  }
}

function countedSeconds(): number {
  return cpuSecondsOfChildren(procFile('/proc/self/stat'));
}

/** What all processes of the machine have used since it started: also those that tests leave to the system; without interrupts. In seconds. */
export function machineCpuSeconds(): number {
  const { busyMs, stealMs } = machineTimes(procFile('/proc/stat'));
  return (busyMs + stealMs) / 1000;
}

/** Empty where the system has none. */
function procFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return '';
  }
}

/** `cutime` and `cstime` of proc(5). The name before them, in parentheses, may contain spaces. Pure. */
export function cpuSecondsOfChildren(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) / ticksPerSecond;
}

/** The dearest, one line each, what all took together, and the machine meanwhile. Pure. */
export function costLines(costs: readonly Cost[], machine: Cost, limit = 20): string[] {
  const line = (seconds: number, cpuSeconds: number, name: string) =>
    `# ${cpuSeconds.toFixed(1).padStart(7)} s of CPU ${seconds.toFixed(1).padStart(7)} s  ${name}`;
  const dearest = costs.toSorted((a, b) => b.cpuSeconds - a.cpuSeconds).slice(0, limit);
  const sum = (of: (cost: Cost) => number) => costs.reduce((total, cost) => total + of(cost), 0);
  return [
    ...dearest.map(({ seconds, cpuSeconds, name }) => line(seconds, cpuSeconds, name)),
    line(
      sum((cost) => cost.seconds),
      sum((cost) => cost.cpuSeconds),
      `all ${costs.length}`,
    ),
    line(machine.seconds, machine.cpuSeconds, machine.name),
  ];
}
