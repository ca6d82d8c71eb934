/** strace on processes that run. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Follows the process and its threads; the result lets go of it. Throws when strace is not there or may not. */
export async function trace(pid: number, args: readonly string[]): Promise<() => Promise<void>> {
  const tracer = spawn('strace', ['-f', '-o', '/dev/null', '-p', String(pid), ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(tracer, 'exit');
  // It says so of each process and thread, or why it cannot.
  const [line] = (await Promise.race([once(createInterface(tracer.stderr), 'line'), ended])) as [unknown];
  if (!String(line).includes('attached')) throw new Error(`strace: ${line}`);
  return async () => {
    tracer.kill();
    await ended;
  };
}

/** Why nothing can be traced here: a machine may have strace and forbid what it does. */
export async function whyNoTracer(): Promise<string | undefined> {
  const other = spawn('sleep', ['60'], { stdio: 'ignore' });
  try {
    await once(other, 'spawn');
    const end = await trace(other.pid ?? 0, []);
    await end();
    return undefined;
  } catch (error) {
    return String(error);
  } finally {
    other.kill();
  }
}
