/**
 * Which process is meant: a pid alone may name another process after the first one ended, so the start time of the
 * process (proc(5), `stat` field 22) is kept with it.
 */
import { readFileSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { replaceFile } from '#cmd/orch/process/replace-file.js';

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot at which the process started. */
  readonly startTicks: string;
}

/** The identity of a running process, undefined when there is none of that pid. */
export function identify(pid: number): ProcessIdentity | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command in parentheses may contain anything; the fields of interest follow the last parenthesis.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, startTicks] = [fields[0], fields[19]];
    if (startTicks === undefined || state === 'Z' || state === 'X') return undefined;
    return { pid, startTicks };
  } catch {
    // No such process, or none that we may look at.
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

/** The process that a file names, undefined when there is no such file or the process is gone. */
export function readIdentity(file: string): ProcessIdentity | undefined {
  try {
    const identity = JSON.parse(readFileSync(file, 'utf8')) as Partial<ProcessIdentity> | null;
    const { pid = 0, startTicks = '' } = identity ?? {};
    return Number.isInteger(pid) && pid > 1 && isRunning({ pid, startTicks }) ? { pid, startTicks } : undefined;
  } catch {
    // None, or one that a machine which lost its power has left torn: no process of this boot.
    return undefined;
  }
}

/** Names (without `.pid`) of the running processes whose files are in the folder. */
export async function runningProcesses(folder: string): Promise<Map<string, ProcessIdentity>> {
  const found = new Map<string, ProcessIdentity>();
  for (const file of await readdir(folder).catch(() => [])) {
    if (!file.endsWith('.pid')) continue;
    const identity = readIdentity(join(folder, file));
    if (identity !== undefined) found.set(file.slice(0, -'.pid'.length), identity);
  }
  return found;
}

/** Ends the programs of a cluster as other signals do, but leaves to its pods what they stand on. */
export const leavingSignal = 'SIGUSR2';

/** Time that the kernel gets to end a process that was killed; ms. */
const killedMs = 10_000;

/**
 * Ends the process: SIGTERM, or another signal, and SIGKILL when it is still there after `graceMs`. Resolves when it is
 * gone; rejects when even that does not end it. `onWaiting` is called each second or so.
 */
export async function stopProcess(
  identity: ProcessIdentity,
  clock: Clock,
  graceMs: number,
  onWaiting?: (waitedMs: number) => void,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<void> {
  const startedMs = clock.monotonic();
  let toldMs = startedMs;
  signalProcess(identity, signal);
  while (isRunning(identity)) {
    const nowMs = clock.monotonic();
    if (nowMs - startedMs > graceMs) signalProcess(identity, 'SIGKILL');
    if (nowMs - startedMs > graceMs + killedMs) throw new Error(`process ${identity.pid} does not end, even killed`);
    if (nowMs - toldMs >= 1000) {
      toldMs = nowMs;
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
