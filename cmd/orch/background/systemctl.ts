import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '#apimachinery/errors/message.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';

/** Rejects with a SetupError that says what systemd said. */
export async function systemctl(...args: string[]): Promise<void> {
  try {
    await promisify(execFile)('systemctl', args);
  } catch (error) {
    throw new SetupError(`systemctl ${args.join(' ')}: ${messageOf(error)}`, { cause: error });
  }
}
