/** Runs programs that nobody vouches for: they may hang, print without end, and leave children that hold their output open. */
import { spawn } from 'node:child_process';
import { childExit } from '#daemon/process/child-exit.js';

export interface ChildOptions {
  /** All of its environment; that of this process unless told. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What it reads; nothing unless told. */
  readonly input?: string;
  /** Of its output, and of its error output; what is beyond is not kept. */
  readonly maxBytes: number;
  /** It is killed as soon as it prints more than that. */
  readonly endsWhenFull?: boolean;
  /** Kills it, and what it has started; the result is then the signal's reason. */
  readonly signal: AbortSignal;
}

export interface ChildResult {
  /** Null: it was killed by `killedBy`. */
  readonly code: number | null;
  readonly killedBy: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** It printed more than that. */
  readonly isCut: boolean;
}

/** Resolves when it has ended, however it did. Throws the system's error when there is no such program, and the signal's reason. */
export async function runChild(command: string, args: readonly string[], options: ChildOptions): Promise<ChildResult> {
  const { signal, maxBytes } = options;
  signal.throwIfAborted();
  // A process group of its own: what it starts goes with it.
  const child = spawn(command, args, { detached: true, stdio: 'pipe', ...(options.env && { env: options.env }) });
  const kill = () => killGroup(child.pid);
  const stdout = new Kept(maxBytes, () => options.endsWhenFull === true && kill());
  const stderr = new Kept(maxBytes);
  child.stdout.on('data', (chunk: Buffer) => stdout.add(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk));
  // One that does not read what it is given has ended or answers all the same: its end tells which.
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

/** The beginning of an output. */
class Kept {
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

/** Also of a group whose first process has ended. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // All of it has just ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
