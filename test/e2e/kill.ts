/** SIGKILL for the programs of a cluster. */
import { join } from 'node:path';
import { layoutOf } from '#cmd/orch/layout.js';
import { identify, isRunning, type ProcessIdentity, readIdentity } from '#cmd/orch/process/identity.js';
import { runningContainerd } from '#nodeagent/containerd/containerd.js';
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

/** Kills the process that looks after all others, which go on; in a cluster of one process also all daemons. */
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

async function kill(what: string, identity: ProcessIdentity | undefined): Promise<void> {
  if (identity === undefined) throw new Error(`${what} does not run`);
  process.kill(identity.pid, 'SIGKILL');
  await eventually(`${what} is gone`, async () => !isRunning(identity), 10_000);
}
