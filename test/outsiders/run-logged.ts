/** Runs a suite's program without a time limit, and logs its output. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';

export interface LoggedRun {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** File for standard output and standard error, overwritten. */
  readonly log: string;
}

/** The program's output. */
export async function runLogged(
  command: string,
  args: readonly string[],
  { env, cwd, log }: LoggedRun,
): Promise<string> {
  const file = await open(log, 'w');
  try {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', file.fd, file.fd] });
    const end = () => child.kill();
    process.once('exit', end);
    await once(child, 'close');
    process.off('exit', end);
  } finally {
    await file.close();
  }
  return readFile(log, 'utf8');
}
