/** Prints figures in a form that can be copied into a document: one line each, with the limit where there is one. */
import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';

export function machineLine(): string {
  const [first] = cpus();
  const gib = Math.round(totalmem() / 1024 ** 3);
  return `${cpus().length} × ${first?.model ?? 'unknown processor'}, ${gib} GiB, Node.js ${process.version}`;
}

export function figure(name: string, value: string, limit?: string): void {
  process.stdout.write(`${name.padEnd(58)} ${value.padStart(12)}${limit === undefined ? '' : `   (limit ${limit})`}\n`);
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}

/** Resident memory of a process in bytes (proc(5), `VmRSS`). */
export function residentBytes(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(match?.[1] ?? 0) * 1024;
}

/** CPU time that a process has used, in ms (proc(5), fields 14 and 15 of `stat`, in ticks of 10 ms). */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
