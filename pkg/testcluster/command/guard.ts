/**
 * Cleans up after a process that was killed: a shell waits for the end of a pipe that only that process holds, and then ends the
 * command that it ran and removes the cluster's folder.
 */
import { type ChildProcess, spawn } from 'node:child_process';

/** In place of a process's id: the command is being started. */
const starting = 'starting';

/**
 * Reads the ids of processes to end, the last line counts; then removes the folder. Of a command whose id did not come any more,
 * only its environment is known, which names the folder; it may not be there yet at the first look.
 */
const script = `pid=
while read -r line; do pid=$line; done
if [ "$pid" = ${starting} ]; then
  for look in 1 2; do
    for environment in $(grep -ls -- "$1/" /proc/[0-9]*/environ); do
      pid=\${environment#/proc/}
      kill -TERM "\${pid%/environ}" 2>/dev/null
    done
    sleep 1
  done
elif [ -n "$pid" ]; then
  kill -TERM "$pid" 2>/dev/null
fi
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

  /** The command is started now; `protect` follows. */
  expect(): void {
    this.#shell.stdin?.write(`${starting}\n`);
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
