/** `orch test -- COMMAND`: runs a command with a cluster of its own, and ends with its exit code. */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { messageOf } from '#apimachinery/errors/message.js';
import type { RunningCluster } from '#testcluster/command/running-cluster.js';

const passedOn = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const;
/** A terminal sends these to the command, too. */
const ofTerminals = ['SIGINT', 'SIGQUIT'] as const;
/** Exit codes of shells: the command does not exist, or cannot run. */
const noCommand = 127;
const notExecutable = 126;
/** A shell adds a signal's number to this. */
const bySignal = 128;

/** Resolves with the exit code. A failure of the cluster ends the command. */
export async function runCommand(cluster: RunningCluster, command: string, args: readonly string[]): Promise<number> {
  cluster.guard.expect();
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...cluster.facts.env } });
  cluster.guard.protect(child.pid);
  const { isTTY = false } = process.stdin;
  const listeners = [
    ...passedOn.map((signal) => [signal, () => void child.kill(signal)] as const),
    ...ofTerminals.map((signal) => [signal, () => void (isTTY || child.kill(signal))] as const),
  ];
  for (const [signal, listener] of listeners) process.on(signal, listener);
  let failure: unknown;
  cluster.failed.catch((error: unknown) => {
    failure = error;
    child.kill('SIGTERM');
  });
  try {
    const code = await exitOf(child);
    if (failure === undefined) return code;
    process.stderr.write(`orch test: the cluster has failed: ${messageOf(failure)}\n`);
    return 1;
  } catch (error) {
    process.stderr.write(`orch test: ${command}: ${messageOf(error)}\n`);
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? noCommand : notExecutable;
  } finally {
    for (const [signal, listener] of listeners) process.off(signal, listener);
    cluster.guard.protect(undefined);
  }
}

/** The exit code, as a shell tells it. Rejects if the command cannot be started. */
function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? bySignal + (signal === null ? 0 : constants.signals[signal])));
  });
}
