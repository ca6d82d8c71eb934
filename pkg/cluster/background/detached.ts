/** Starts the cluster of a data directory in a background process. */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Layout } from '#cluster/config/layout.js';
import type { StartOptions } from '#cluster/config/start-options.js';
import type { ProgressSink, ServeMessage } from '#cluster/terminal/progress.js';
import { SetupError } from '#cluster/terminal/setup-error.js';

/** Command line of this program, without its arguments. */
export function ownProgram(): readonly string[] {
  return [process.execPath, ...process.execArgv, process.argv[1] ?? ''];
}

/** Folder of all programs, one folder each: `dist/bundle`, or `dist/cmd` where they are not bundled. */
export function programsFolder(): string {
  return dirname(dirname(process.argv[1] ?? ''));
}

/**
 * Starts `orch serve` in its own session and reports its progress until it is ready. Rejects with a SetupError.
 * @param program Command line of `orch`, where another release is to run.
 */
export async function startInBackground(
  start: StartOptions,
  layout: Layout,
  sink: ProgressSink,
  program = ownProgram(),
): Promise<void> {
  const [command = '', ...args] = program;
  mkdirSync(layout.logs, { recursive: true });
  const logFile = join(layout.logs, 'orch.log');
  const output = openSync(logFile, 'a', 0o600);
  const child = spawn(command, [...args, 'serve', JSON.stringify(start)], {
    detached: true,
    stdio: ['ignore', output, output, 'ipc'],
  });
  closeSync(output);
  try {
    await new Promise<void>((resolve, reject) => {
      child.on('message', (message) => {
        const event = message as ServeMessage;
        if (event.state === 'ready') resolve();
        else if (event.state === 'error') reject(new SetupError(`${event.message}\nThe log is in ${logFile}`));
        else sink(event);
      });
      child.once('error', reject);
      child.once('exit', (code) => reject(new SetupError(`it exited at once (code ${code}); its log is ${logFile}`)));
    });
  } finally {
    if (child.connected) child.disconnect();
    child.unref();
  }
}
