/**
 * Identity files of processes. After a process has exited its pid may name another one, so the start time (proc(5),
 * `stat` field 22) is stored too.
 */

import { readFileSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { replaceFile } from '#cluster/process/replace-file.js';

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot at which the process started. */
  readonly startTicks: string;
}

/** The identity of a running process; undefined when no process has that pid. */
export function identify(pid: number): ProcessIdentity | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command in parentheses may contain any character; the other fields follow the last parenthesis.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, startTicks] = [fields[0], fields[19]];
    if (startTicks === undefined || state === 'Z' || state === 'X') return undefined;
    return { pid, startTicks };
  } catch {
    // No such process, or no right to read it.
    return undefined;
  }
}

export function isRunning(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.startTicks === identity.startTicks;
}

export function writeIdentity(file: string, pid: number): void {
  const identity = identify(pid);
  if (identity !== undefined) replaceFile(file, `${JSON.stringify(identity)}\n`);
}

/** The running process that a file names; undefined without such a file or process. */
export function readIdentity(file: string): ProcessIdentity | undefined {
  try {
    const identity = JSON.parse(readFileSync(file, 'utf8')) as Partial<ProcessIdentity> | null;
    const { pid = 0, startTicks = '' } = identity ?? {};
    return Number.isInteger(pid) && pid > 1 && isRunning({ pid, startTicks }) ? { pid, startTicks } : undefined;
  } catch {
    // Missing, or damaged by a power failure: no process of this boot.
    return undefined;
  }
}

/** The running processes of a folder's identity files, by file name without `.pid`. */
export async function runningProcesses(folder: string): Promise<Map<string, ProcessIdentity>> {
  const processes = new Map<string, ProcessIdentity>();
  for (const file of await readdir(folder).catch(() => [])) {
    if (!file.endsWith('.pid')) continue;
    const identity = readIdentity(join(folder, file));
    if (identity !== undefined) processes.set(file.slice(0, -'.pid'.length), identity);
  }
  return processes;
}

/** Stops the programs of a cluster and keeps its pods running. */
export const leavingSignal = 'SIGUSR2';

/** Longest time until a killed process is gone; ms. */
const killedMs = 10_000;

/**
 * Stops the process with `signal`, and with SIGKILL after `graceMs`. Resolves when it is gone; rejects when it survives
 * SIGKILL. `onWaiting` is called about every second.
 */
export async function stopProcess(
  identity: ProcessIdentity,
  clock: Clock,
  graceMs: number,
  onWaiting?: (waitedMs: number) => void,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<void> {
  const startedMs = clock.monotonic();
  let reportedMs = startedMs;
  signalProcess(identity, signal);
  while (isRunning(identity)) {
    const nowMs = clock.monotonic();
    if (nowMs - startedMs > graceMs) signalProcess(identity, 'SIGKILL');
    if (nowMs - startedMs > graceMs + killedMs) throw new Error(`process ${identity.pid} survives SIGKILL`);
    if (nowMs - reportedMs >= 1000) {
      reportedMs = nowMs;
      onWaiting?.(nowMs - startedMs);
    }
    await clock.sleep(20);
  }
}

function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (!isRunning(identity)) return;
  try {
    process.kill(identity.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

export function forgetIdentity(file: string): void {
  rmSync(file, { force: true });
}

/**
 * Makes the process of a cluster read its settings and open the cluster to more servers. The default action of this signal
 * is to ignore it, so it does not kill a process that is still starting.
 */
export const openSignal = 'SIGURG';
