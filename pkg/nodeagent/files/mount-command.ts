/** Runs mount(8) for file systems that may take long or hang, such as network file systems and devices. */
import { runChild } from '#nodeagent/processes/child.js';

export interface MountRequest {
  readonly type: string;
  readonly source: string;
  readonly target: string;
  readonly options: readonly string[];
  /** Replaces mount(8); it is called with `mount` and its arguments. */
  readonly mounter?: string;
}

/** The command and its children were killed after an abort. */
export class MountInterruptedError extends Error {
  override readonly name = 'MountInterruptedError';
}

export interface CommandResult {
  /** Null if a signal ended it. */
  readonly status: number | null;
  /** Standard output and error, up to a limit. */
  readonly output: string;
}

/** Limit of output in error messages. */
const maxOutputBytes = 4096;

/** Throws an error with release 1.24's text if the command fails, or MountInterruptedError. */
export async function runMount(request: MountRequest, signal: AbortSignal): Promise<void> {
  const { type, source, target, options, mounter } = request;
  const args = ['-t', type, ...(options.length === 0 ? [] : ['-o', options.join(',')]), '--', source, target];
  const command = mounter ?? 'mount';
  const commandArgs = mounter === undefined ? args : ['mount', ...args];
  const { status, output } = await runCommand(command, commandArgs, signal);
  if (status === 0) return;
  const argumentText = commandArgs.filter((arg) => arg !== '--').join(' ');
  const details = `Mounting command: ${command}\nMounting arguments: ${argumentText}\nOutput: ${output}`;
  throw new Error(`mount failed: exit status ${status ?? -1}\n${details}`);
}

/**
 * Runs a command and kills it with its children on abort. Throws MountInterruptedError if the signal has aborted, and
 * the system's error if the command does not exist.
 */
export async function runCommand(
  command: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<CommandResult> {
  if (signal.aborted) throw new MountInterruptedError(`${command} was not started`);
  try {
    const { code, stdout, stderr } = await runChild(command, args, { signal, maxBytes: maxOutputBytes });
    return { status: code, output: Buffer.concat([stdout, stderr]).toString() };
  } catch (error) {
    if (signal.aborted) throw new MountInterruptedError(`${command} was killed`);
    throw error;
  }
}
