/** strace on running processes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Traces the process and its threads; the result detaches. Throws if strace is missing or not permitted. */
export async function trace(pid: number, args: readonly string[]): Promise<() => Promise<void>> {
  const tracer = spawn('strace', ['-f', '-o', '/dev/null', '-p', String(pid), ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(tracer, 'exit');
  // strace prints a line for each attached thread, or why it cannot attach.
  const [line] = (await Promise.race([once(createInterface(tracer.stderr), 'line'), ended])) as [unknown];
  if (!String(line).includes('attached')) throw new Error(`strace: ${line}`);
  return async () => {
    tracer.kill();
    await ended;
  };
}

/** Why tracing is impossible here: a machine may have strace and forbid ptrace(2). */
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
