/** The command line of a cluster's running process, by which it can be replaced or restarted. */
import { readFileSync } from 'node:fs';

export interface RunningProgram {
  /** Interpreter with its options, and script. */
  readonly command: readonly string[];
  readonly subcommand: string;
  /** Arguments after the subcommand. */
  readonly args: readonly string[];
  /** Its systemd unit, if any: `orch.service`. */
  readonly unit: string | undefined;
}

/** Throws the file system's error for a missing process. */
export function runningProgram(pid: number): RunningProgram {
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replace(/\0$/, '').split('\0');
  return parseProgram(words, readFileSync(`/proc/${pid}/cgroup`, 'utf8'));
}

/**
 * Pure. Throws an Error for a command line of another program.
 * @param cgroup Content of `/proc/PID/cgroup`.
 */
export function parseProgram(words: readonly string[], cgroup: string): RunningProgram {
  const script = words.findIndex((word, place) => place > 0 && !word.startsWith('-'));
  const subcommand = words[script + 1];
  if (script < 1 || subcommand === undefined) throw new Error(`not started by orch: ${words.join(' ')}`);
  return {
    command: words.slice(0, script + 1),
    subcommand,
    args: words.slice(script + 2),
    unit: /\/([^/\n]+\.service)(?:\/|$)/m.exec(cgroup)?.[1],
  };
}
