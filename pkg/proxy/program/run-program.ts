/** Runs the programs that change kernel rules. */
import { spawn } from 'node:child_process';

/** Runs a program with input and returns its output; rejects if it fails. */
export type RunWithInput = (program: string, args: readonly string[], input?: string) => Promise<string>;

/** A program failed; the message contains its error output. */
export class ProgramError extends Error {
  readonly code: number | null;

  constructor(message: string, code: number | null) {
    super(message);
    this.name = 'ProgramError';
    this.code = code;
  }
}

const timeoutMs = 60_000;
/** Limit of error output: nft repeats a rejected line, which may have a hundred thousand elements. */
const maxErrorBytes = 2000;

export const runWithInput: RunWithInput = (program, args, input = '') =>
  new Promise((resolve, reject) => {
    // spawn's own timeout would keep running after a program was not found, and hold this process.
    const signal = AbortSignal.timeout(timeoutMs);
    const child = spawn(program, [...args], { stdio: ['pipe', 'pipe', 'pipe'], signal });
    const output: Buffer[] = [];
    let errors = '';
    child.stdout.on('data', (part: Buffer) => output.push(part));
    child.stderr.on('data', (part: Buffer) => {
      if (errors.length < maxErrorBytes) errors += part.toString().slice(0, maxErrorBytes);
    });
    // The program may end before it has read its input; its exit code shows whether it failed.
    child.stdin.on('error', () => undefined);
    child.once('error', (error) => {
      reject(signal.aborted ? new ProgramError(`${program} has not ended for ${timeoutMs / 1000} s`, null) : error);
    });
    child.once('close', (code, killedBy) => {
      if (code === 0) resolve(Buffer.concat(output).toString());
      else reject(new ProgramError(`${program} ended with ${code ?? killedBy}: ${errors.trim()}`, code));
    });
    child.stdin.end(input);
  });

export function isProgramMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
