/** Runs mount(8) for file systems that may take long, or for ever: of other machines, of devices. */
import { runChild } from '#nodeagent/processes/child.js';

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
export async function runCommand(
  command: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<CommandResult> {
  if (signal.aborted) throw new MountInterruptedError(`${command} was not begun`);
  try {
    const { code, stdout, stderr } = await runChild(command, args, { signal, maxBytes: maxOutputBytes });
    return { status: code, output: Buffer.concat([stdout, stderr]).toString() };
  } catch (error) {
    if (signal.aborted) throw new MountInterruptedError(`${command} was killed`);
    throw error;
  }
}
