/** SIGKILL for the programs of a cluster. */
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { layoutOf } from '#cluster/config/layout.js';
import { identify, isRunning, type ProcessIdentity, readIdentity } from '#cluster/process/identity.js';
import { containerdPaths, runningContainerd } from '#containerd/containerd.js';
import { eventually } from '#test/e2e/harness.js';
import { nodeNames } from '#test/e2e/observe.js';

/** The running program of the cluster, by the name of its identity file. */
export function findProgram(dataDir: string, program: string): ProcessIdentity | undefined {
  return readIdentity(join(layoutOf(dataDir).run, `${program}.pid`));
}

/** Resolves when the program is gone. Throws when it does not run. */
export function killProgram(dataDir: string, program: string): Promise<void> {
  return kill(program, findProgram(dataDir, program));
}

/** Kills the supervisor, while its programs go on; in a cluster of one process this kills all daemons, too. */
export function killCluster(dataDir: string): Promise<void> {
  return killProgram(dataDir, 'orch');
}

/** The containerd of the cluster's first node. */
export async function findContainerd(dataDir: string): Promise<ProcessIdentity | undefined> {
  const pid = await runningContainerd(layoutOf(dataDir).runtime(nodeNames(dataDir)[0] ?? ''));
  return pid === undefined ? undefined : identify(pid);
}

export async function killContainerd(dataDir: string): Promise<void> {
  await kill('containerd', await findContainerd(dataDir));
}

/** Kills all processes of the cluster and its containers, repeatedly until no new process appears. */
export async function killEverything(dataDir: string): Promise<void> {
  await killCluster(dataDir);
  const { socket } = containerdPaths(layoutOf(dataDir).runtime(nodeNames(dataDir)[0] ?? ''));
  await eventually('nothing of the cluster runs', async () => {
    const parents = new Set(await pidsNaming([dataDir, socket]));
    const children = [];
    for (const pid of await pids()) if (parents.has(parentOf(pid))) children.push(pid);
    for (const pid of [...parents, ...children]) killIfThere(pid);
    return parents.size === 0;
  });
}

async function pids(): Promise<number[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
}

/** Processes whose command line contains one of the texts, without this process. */
async function pidsNaming(texts: readonly string[]): Promise<number[]> {
  const matches = [];
  for (const pid of await pids()) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (pid !== process.pid && texts.some((text) => command.includes(text))) matches.push(pid);
  }
  return matches;
}

/** Field 4 of the process's `stat`, see proc(5); 0 when it is gone. */
function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function kill(what: string, identity: ProcessIdentity | undefined): Promise<void> {
  if (identity === undefined) throw new Error(`${what} does not run`);
  process.kill(identity.pid, 'SIGKILL');
  await eventually(`${what} is gone`, async () => !isRunning(identity), 10_000);
}
