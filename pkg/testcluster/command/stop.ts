/** Finds the clusters of `orch test start` on this machine, and stops them. */
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { readIdentity, stopProcess } from '#cluster/process/identity.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { identityFile } from '#testcluster/command/running-cluster.js';
import { clusterFolderPrefix } from '#testcluster/start-test-cluster.js';

/** Time between SIGTERM and SIGKILL. */
const graceMs = 10_000;

/** The names of all clusters whose process runs. */
export async function clusterNames(): Promise<string[]> {
  const folders = (await readdir(tmpdir())).filter((name) => name.startsWith(clusterFolderPrefix));
  return folders
    .filter((folder) => readIdentity(join(tmpdir(), folder, identityFile)) !== undefined)
    .map((folder) => folder.slice(clusterFolderPrefix.length));
}

/** Resolves when its process has ended and its files are removed. Throws a SetupError for a cluster that does not exist. */
export async function stopCluster(name: string): Promise<void> {
  const folder = join(tmpdir(), `${clusterFolderPrefix}${name}`);
  if (!/^\w+$/.test(name) || !existsSync(folder)) throw new SetupError(`there is no test cluster ${name}`);
  const identity = readIdentity(join(folder, identityFile));
  if (identity !== undefined) await stopProcess(identity, realClock, graceMs);
  await rm(folder, { recursive: true, force: true });
}
