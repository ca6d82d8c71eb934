/** How a cluster's process was started, so that other programs can be started in its place. */
import { readFileSync } from 'node:fs';

export interface HowItRuns {
  /** Interpreter, its options and script: the programs themselves. */
  readonly program: readonly string[];
  readonly subcommand: string;
  /** What follows the subcommand. */
  readonly args: readonly string[];
  /** Of systemd, that keeps it: `orch.service`. */
  readonly unit: string | undefined;
}

/** Throws what the file system says when there is no such process. */
export function howItRuns(pid: number): HowItRuns {
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replace(/\0$/, '').split('\0');
  return parseHowItRuns(command, readFileSync(`/proc/${pid}/cgroup`, 'utf8'));
}

/**
 * Pure. Throws an Error for a command that is none of `orch`.
 * @param cgroup Content of `/proc/PID/cgroup`.
 */
export function parseHowItRuns(command: readonly string[], cgroup: string): HowItRuns {
  const script = command.findIndex((word, place) => place > 0 && !word.startsWith('-'));
  const subcommand = command[script + 1];
  if (script < 1 || subcommand === undefined) throw new Error(`not started by orch: ${command.join(' ')}`);
  return {
    program: command.slice(0, script + 1),
    subcommand,
    args: command.slice(script + 2),
    unit: /\/([^/\n]+\.service)(?:\/|$)/m.exec(cgroup)?.[1],
  };
}
