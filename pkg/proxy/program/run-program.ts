/** The programs by which the kernel is told of rules. */
import { spawn } from 'node:child_process';

/** Runs a program with a text to read, and returns what it prints; rejects when it fails. */
export type RunWithInput = (program: string, args: readonly string[], input?: string) => Promise<string>;

/** A program failed: `message` has what it said. */
export class ProgramError extends Error {
  readonly code: number | null;

  constructor(message: string, code: number | null) {
    super(message);
    this.name = 'ProgramError';
    this.code = code;
  }
}

const timeoutMs = 60_000;
/** Of an error: nft repeats the line that it does not like, which may have a hundred thousand elements. */
const maxErrorBytes = 2000;

export const runWithInput: RunWithInput = (program, args, input = '') =>
  new Promise((resolve, reject) => {
    // The timer of spawn's own option would go on after a program was not found, and hold this process until then.
    const signal = AbortSignal.timeout(timeoutMs);
    const child = spawn(program, [...args], { stdio: ['pipe', 'pipe', 'pipe'], signal });
    const output: Buffer[] = [];
    let errors = '';
    child.stdout.on('data', (part: Buffer) => output.push(part));
    child.stderr.on('data', (part: Buffer) => {
      if (errors.length < maxErrorBytes) errors += part.toString().slice(0, maxErrorBytes);
    });
    // It may end before it has read everything; its exit code tells.
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
