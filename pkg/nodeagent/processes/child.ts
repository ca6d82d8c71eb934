/** Runs untrusted programs: they may hang, print endlessly, and leave children that hold their output open. */
import { spawn } from 'node:child_process';
import { childExit } from '#daemon/process/child-exit.js';

export interface ChildOptions {
  /** The whole environment; default: this process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Standard input; default: empty. */
  readonly input?: string;
  /** Limit of standard output and of standard error; the rest is dropped. */
  readonly maxBytes: number;
  /** Kills the program once it exceeds `maxBytes`. */
  readonly endsWhenFull?: boolean;
  /** Kills the program and its children; the call rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

export interface ChildResult {
  /** Null if killed by `killedBy`. */
  readonly code: number | null;
  readonly killedBy: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Standard output exceeded `maxBytes`. */
  readonly isCut: boolean;
}

/** Resolves once the program has ended. Throws the system's error if it does not exist, and the signal's reason. */
export async function runChild(command: string, args: readonly string[], options: ChildOptions): Promise<ChildResult> {
  const { signal, maxBytes } = options;
  signal.throwIfAborted();
  // A separate process group, so that its children can be killed with it.
  const child = spawn(command, args, { detached: true, stdio: 'pipe', ...(options.env && { env: options.env }) });
  const kill = () => killGroup(child.pid);
  const stdout = new LimitedOutput(maxBytes, () => options.endsWhenFull === true && kill());
  const stderr = new LimitedOutput(maxBytes);
  child.stdout.on('data', (chunk: Buffer) => stdout.add(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk));
  // A program that does not read its input may still succeed; its exit code tells.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  signal.addEventListener('abort', kill, { once: true });
  try {
    const [code, killedBy] = await childExit(child);
    signal.throwIfAborted();
    return { code, killedBy, stdout: stdout.bytes, stderr: stderr.bytes, isCut: stdout.isCut };
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

/** The beginning of an output, up to a limit. */
class LimitedOutput {
  readonly #limit: number;
  readonly #onFull: () => void;
  readonly #chunks: Buffer[] = [];
  #length = 0;

  constructor(limit: number, onFull: () => void = () => undefined) {
    this.#limit = limit;
    this.#onFull = onFull;
  }

  get isCut(): boolean {
    return this.#length > this.#limit;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  add(chunk: Buffer): void {
    if (this.#length < this.#limit) this.#chunks.push(chunk.subarray(0, this.#limit - this.#length));
    const wasCut = this.isCut;
    this.#length += chunk.length;
    if (this.isCut && !wasCut) this.#onFull();
  }
}

/** Kills the process group, even if its leader has ended. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // The whole group has just ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
