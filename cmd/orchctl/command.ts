/** What a command of orchctl is, and what it is given to work with. */

import type { Clock } from '#apimachinery/clock.js';
import type { Api } from '#cmd/orchctl/api/api.js';
import type { OptionTable } from '#daemon/options/option.js';

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

/** Options by name, as the parser gives them. */
export interface Values {
  string(name: string): string | undefined;
  strings(name: string): readonly string[];
  bool(name: string): boolean;
  number(name: string): number;
  given(name: string): boolean;
}

export interface Invocation extends Terminal {
  readonly args: readonly string[];
  /** What follows `--`. */
  readonly trailing: readonly string[];
  readonly values: Values;
  /** The API server; connects on first use. */
  readonly api: Api;
  /** Namespace of the command line, else of the configuration, else `default`. */
  readonly namespace: string;
}

export interface Command {
  readonly name: string;
  /** After the program and the command's name: `TYPE [NAME]`. */
  readonly usage: string;
  readonly summary: string;
  /** Lines that work as they stand. */
  readonly examples: readonly string[];
  readonly options: OptionTable;
  /** Needs no API server. */
  readonly offline?: true;
  /** Does the work; the exit code is 0 unless it returns another. */
  run(invocation: Invocation): Promise<number | undefined>;
}

/** The command line is wrong: exit code 2 and a hint. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Ends with a message and that exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;
  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
