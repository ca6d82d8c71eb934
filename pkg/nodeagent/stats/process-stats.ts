/** Task states, open files and load averages of processes, from `/proc`, as cAdvisor reports them. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Names of release 1.24. `uninterruptible` includes disk waits, since `/proc` does not distinguish them. */
export const taskStateNames = ['sleeping', 'running', 'stopped', 'uninterruptible', 'iowaiting'] as const;
export type TaskStates = Readonly<Record<(typeof taskStateNames)[number], number>>;

/** By the state letter in `/proc/<pid>/stat`; ended tasks (`Z`, `X`) do not count. */
const stateOf: Readonly<Record<string, keyof TaskStates>> = {
  S: 'sleeping',
  I: 'sleeping',
  R: 'running',
  T: 'stopped',
  t: 'stopped',
  D: 'uninterruptible',
};

/** Bounds the work for containers with very many tasks. */
const maxTasks = 2000;
/** Files that are read at once. */
const batchSize = 64;

/** The sum over `processes`; ended processes count nothing. Above `maxTasks` the counts are too low. */
export async function taskStates(processes: readonly number[], proc = '/proc'): Promise<TaskStates> {
  const counts = { sleeping: 0, running: 0, stopped: 0, uninterruptible: 0, iowaiting: 0 };
  let tasksLeft = maxTasks;
  for (const process of processes) {
    if (tasksLeft <= 0) break;
    const dir = join(proc, String(process), 'task');
    const tasks = (await readdir(dir).catch(() => [])).slice(0, tasksLeft);
    tasksLeft -= Math.max(1, tasks.length);
    for (let at = 0; at < tasks.length; at += batchSize) {
      const batch = tasks.slice(at, at + batchSize);
      const texts = await Promise.all(batch.map((task) => readFile(join(dir, task, 'stat'), 'utf8').catch(() => '')));
      for (const text of texts) {
        // The program's name before the state may contain spaces and parentheses.
        const state = stateOf[text.charAt(text.lastIndexOf(')') + 2)];
        if (state !== undefined) counts[state] += 1;
      }
    }
  }
  return counts;
}

export interface OpenFiles {
  readonly descriptors: number;
  /** How many of the descriptors are sockets. */
  readonly sockets: number;
  /** The first process's limit of open files; undefined without a limit. */
  readonly limit: number | undefined;
}

/** Bound the work for containers with very many processes or open files. */
const maxProcesses = 1000;
const maxLinks = 20_000;

/** The sum over `processes`; ended processes count nothing. Above the bounds the counts are too low. */
export async function openFiles(processes: readonly number[], proc = '/proc'): Promise<OpenFiles> {
  let [descriptors, sockets, linkCount] = [0, 0, 0];
  for (const process of processes.slice(0, maxProcesses)) {
    const dir = join(proc, String(process), 'fd');
    const names = await readdir(dir).catch(() => []);
    descriptors += names.length;
    const links = names.slice(0, maxLinks - linkCount);
    linkCount += links.length;
    for (let at = 0; at < links.length; at += batchSize) {
      const batch = links.slice(at, at + batchSize).map((name) => readlink(join(dir, name)).catch(() => ''));
      sockets += (await Promise.all(batch)).filter((target) => target.startsWith('socket:')).length;
    }
  }
  const [first] = processes;
  return { descriptors, sockets, limit: first === undefined ? undefined : await limitOf(first, proc) };
}

async function limitOf(process: number, proc: string): Promise<number | undefined> {
  const text = await readFile(join(proc, String(process), 'limits'), 'utf8').catch(() => '');
  const soft = /^Max open files\s+(\d+)/m.exec(text)?.[1];
  return soft === undefined ? undefined : Number(soft);
}

interface Sample {
  readonly timeMs: number;
  readonly average: number;
}

const windowMs = 10_000;
/** Older samples no longer affect the average. */
const sampleTTLMs = 60 * windowMs;

/** Averages of running tasks, smoothed over ten seconds as in cAdvisor. Takes a sample per request; times are monotonic ms. */
export class LoadAverages {
  readonly #samples = new Map<string, Sample>();

  /** Running tasks × 1000, rounded down. */
  next(key: string, running: number, timeMs: number): number {
    const before = this.#samples.get(key);
    const decay = before === undefined ? 0 : Math.exp((before.timeMs - timeMs) / windowMs);
    const average = (before?.average ?? 0) * decay + running * (1 - decay);
    this.#samples.set(key, { timeMs, average });
    return Math.floor(average * 1000);
  }

  /** Drops averages that were not requested for a long time. */
  forget(nowMs: number): void {
    for (const [key, { timeMs }] of this.#samples) if (nowMs - timeMs > sampleTTLMs) this.#samples.delete(key);
  }
}
