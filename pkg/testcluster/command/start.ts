/** `orch test start`: leaves a cluster running in a process of its own, until it is stopped or its owner has ended. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { ownProgram } from '#cluster/background/detached.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import type { ClusterFacts } from '#testcluster/command/running-cluster.js';

/**
 * Starts `orch test serve` with these options. Resolves when the cluster is ready. Rejects with a SetupError that has the
 * process's words.
 */
export async function startInBackground(argv: readonly string[], owner: number): Promise<ClusterFacts> {
  const [command = '', ...program] = ownProgram();
  const child = spawn(command, [...program, 'test', 'serve', ...argv, '--json', `--owner=${owner}`], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const failure = text(child.stderr);
  // Read together with the exit.
  failure.catch(() => undefined);
  try {
    return await new Promise<ClusterFacts>((resolve, reject) => {
      let line = '';
      child.stdout.setEncoding('utf8').on('data', (part: string) => {
        line += part;
        if (line.includes('\n')) resolve(JSON.parse(line) as ClusterFacts);
      });
      child.once('error', reject);
      child.once('exit', () => void failure.then((words) => reject(new SetupError(words.trim())), reject));
    });
  } finally {
    child.stdout.destroy();
    child.stderr.destroy();
    child.unref();
  }
}
