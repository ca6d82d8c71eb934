/** Runs mount(8) for file systems that may take long, or for ever: of other machines, of devices. */
import { spawn } from 'node:child_process';

export interface MountRequest {
  readonly type: string;
  readonly source: string;
  readonly target: string;
  readonly options: readonly string[];
  /** A program that is given `mount` and its arguments instead. */
  readonly mounter?: string;
}

/** The command was killed with its helpers: nobody waits for it any more. */
export class MountInterruptedError extends Error {
  override readonly name = 'MountInterruptedError';
}

export interface CommandResult {
  /** Null: a signal ended it. */
  readonly status: number | null;
  /** What it wrote, errors too, as far as it is kept. */
  readonly output: string;
}

/** More is not shown to anybody. */
const maxOutputBytes = 4096;

/** Throws an error in the words of release 1.24 when the command fails, and MountInterruptedError. */
export async function runMount(request: MountRequest, signal: AbortSignal): Promise<void> {
  const { type, source, target, options, mounter } = request;
  const args = ['-t', type, ...(options.length === 0 ? [] : ['-o', options.join(',')]), '--', source, target];
  const command = mounter ?? 'mount';
  const given = mounter === undefined ? args : ['mount', ...args];
  const { status, output } = await runCommand(command, given, signal);
  if (status === 0) return;
  const shown = given.filter((arg) => arg !== '--').join(' ');
  const what = `Mounting command: ${command}\nMounting arguments: ${shown}\nOutput: ${output}`;
  throw new Error(`mount failed: exit status ${status ?? -1}\n${what}`);
}

/**
 * Runs a command that may start others, which are killed with it. Throws MountInterruptedError when the signal has
 * aborted, and the system's error when there is no such command.
 */
export function runCommand(command: string, args: readonly string[], signal: AbortSignal): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(new MountInterruptedError(`${command} was not begun`));
      return;
    }
    // A process group of its own: the helpers for a file system's type go with it.
    const child = spawn(command, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const kept: Buffer[] = [];
    let bytes = 0;
    const keep = (chunk: Buffer) => {
      if (bytes < maxOutputBytes) kept.push(chunk.subarray(0, maxOutputBytes - bytes));
      bytes += chunk.length;
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    let isKilled = false;
    const kill = () => {
      isKilled = true;
      if (child.pid !== undefined && child.exitCode === null) killGroup(child.pid);
    };
    signal.addEventListener('abort', kill, { once: true });
    const over = () => signal.removeEventListener('abort', kill);
    child.once('error', (error) => {
      over();
      reject(error);
    });
    child.once('close', (status) => {
      over();
      if (isKilled) reject(new MountInterruptedError(`${command} was killed`));
      else resolve({ status, output: Buffer.concat(kept).toString() });
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // It has just ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
