/** The files that processes have open, out of `/proc`. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

export interface OpenFiles {
  readonly descriptors: number;
  /** Of those. */
  readonly sockets: number;
  /** Of the first process: files that it may have open; undefined without limit. */
  readonly limit: number | undefined;
}

/** What is looked at, at most: a container may have as many of both as it likes. */
const maxProcesses = 1000;
const maxLinks = 20_000;
/** Links that are read together. */
const batchSize = 64;

/** Of these processes together; those that have ended meanwhile have none. Beyond the bounds the figures are too low. */
export async function openFiles(processes: readonly number[], proc = '/proc'): Promise<OpenFiles> {
  let [descriptors, sockets, links] = [0, 0, 0];
  for (const process of processes.slice(0, maxProcesses)) {
    const dir = join(proc, String(process), 'fd');
    const names = await readdir(dir).catch(() => []);
    descriptors += names.length;
    const looked = names.slice(0, maxLinks - links);
    links += looked.length;
    for (let at = 0; at < looked.length; at += batchSize) {
      const batch = looked.slice(at, at + batchSize).map((name) => readlink(join(dir, name)).catch(() => ''));
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
