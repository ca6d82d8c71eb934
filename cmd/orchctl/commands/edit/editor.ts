/** The editor that the user wants. */
import { spawn } from 'node:child_process';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

/** Opens the file and waits until the editor ends. Throws a CommandError if it cannot be started or fails. */
export function runEditor(path: string, { env }: Pick<Invocation, 'env'>): Promise<void> {
  const editor =
    ['ORCH_EDITOR', 'KUBE_EDITOR', 'VISUAL', 'EDITOR'].map((name) => env[name]).find((each) => each) ?? 'vi';
  return new Promise((resolve, reject) => {
    // A shell, because the variable may have arguments.
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'orchctl', path], { stdio: 'inherit', env: { ...env } });
    child.once('error', (error) =>
      reject(new CommandError(`unable to launch the editor ${JSON.stringify(editor)}: ${error.message}`)),
    );
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new CommandError(`there was a problem with the editor ${JSON.stringify(editor)}`));
    });
  });
}
