/** The terminal that a command runs in. */
import type { Clock } from '#apimachinery/clock.js';

export interface Output {
  write(text: string | Buffer): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

/** The process around a command, so that tests can replace it. */
export interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  readonly out: Output;
  readonly err: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborts at SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  /** Calls `fn` when the terminal's size changes; returns a function that stops this. */
  onResize(fn: () => void): () => void;
}
