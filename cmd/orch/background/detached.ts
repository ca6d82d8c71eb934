/** Starts what a data directory holds in a process of its own. */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Layout } from '#cmd/orch/context/layout.js';
import type { StartOptions } from '#cmd/orch/context/start-options.js';
import type { ProgressSink, ServeMessage } from '#cmd/orch/terminal/progress.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';

/** These programs: what a command line begins with. */
export function ownProgram(): readonly string[] {
  return [process.execPath, ...process.execArgv, process.argv[1] ?? ''];
}

/**
 * Starts `orch serve` in a session of its own and follows its progress until it is ready. Rejects with a SetupError.
 * @param program Those of another release, where they are meant.
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
    await new Promise<void>((done, fail) => {
      child.on('message', (message) => {
        const event = message as ServeMessage;
        if (event.state === 'ready') done();
        else if (event.state === 'error') fail(new SetupError(`${event.message}\nThe log is in ${logFile}`));
        else sink(event);
      });
      child.once('error', fail);
      child.once('exit', (code) => fail(new SetupError(`it ended at once (${code}); the log is in ${logFile}`)));
    });
  } finally {
    if (child.connected) child.disconnect();
    child.unref();
  }
}
