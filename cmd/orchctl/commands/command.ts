/** What a command of orchctl is, and what it is given to work with. */

import type { Api } from '#cmd/orchctl/api/api.js';
import type { Terminal } from '#cmd/orchctl/terminal/terminal.js';
import type { OptionTable } from '#daemon/options/option.js';

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
