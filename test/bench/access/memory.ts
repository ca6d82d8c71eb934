/** Resident memory of a server's process and its descendants. */
import { readFileSync, writeFileSync } from 'node:fs';
import { treePids } from '#test/bench/machine/proc.js';
import { residentBytes } from '#test/bench/report.js';

const sum = (pid: number, bytes: (pid: number) => number) => treePids(pid).reduce((all, one) => all + bytes(one), 0);

export const residentTreeBytes = (pid: number): number => sum(pid, residentBytes);

/** Peak resident memory (proc(5), `VmHWM`), summed over processes. */
export const peakTreeBytes = (pid: number): number =>
  sum(pid, (one) => {
    const match = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${one}/status`, 'utf8'));
    return Number(match?.[1] ?? 0) * 1024;
  });

/** Resets the peak (proc(5), `clear_refs`). */
export function forgetPeak(pid: number): void {
  for (const one of treePids(pid)) writeFileSync(`/proc/${one}/clear_refs`, '5');
}
