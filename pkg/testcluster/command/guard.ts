/**
 * Cleans up after a process that was killed: a shell waits for the end of a pipe that only that process holds, and then ends the
 * command that it ran and removes the cluster's folder.
 */
import { type ChildProcess, spawn } from 'node:child_process';

/** Reads the ids of processes to end, the last line counts; then removes the folder. */
const script = `pid=
while read -r line; do pid=$line; done
[ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null
rm -rf -- "$1"`;

export class Guard {
  readonly #shell: ChildProcess;

  constructor(folder: string) {
    // In a session of its own: a terminal's signals do not reach it.
    this.#shell = spawn('/bin/sh', ['-c', script, 'orch-test-guard', folder], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    // Without it, nothing is left to do but what the process does itself.
    this.#shell.on('error', () => undefined);
    this.#shell.stdin?.on('error', () => undefined);
    this.#shell.unref();
  }

  /** The process that ends with this one; undefined: none any more. */
  protect(pid: number | undefined): void {
    this.#shell.stdin?.write(`${pid ?? ''}\n`);
  }

  /** Removes the folder now. */
  end(): void {
    this.protect(undefined);
    this.#shell.stdin?.end();
  }
}
