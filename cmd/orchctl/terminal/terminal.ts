/** The terminal that a command runs in. */
import type { Clock } from '#apimachinery/clock.js';

export interface Output {
  write(text: string | Buffer): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

/** The process around the command, so that commands can run in tests. */
export interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  readonly out: Output;
  readonly err: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborts at SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  /** Called when the terminal's size changes; returns the function that ends that. */
  onResize(fn: () => void): () => void;
}
