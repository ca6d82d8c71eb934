/** The interface between orchctl and its commands. */

import type { Api } from '#cmd/orchctl/api/api.js';
import type { Terminal } from '#cmd/orchctl/terminal/terminal.js';
import type { OptionTable } from '#daemon/options/option.js';

/** Parsed options by name. */
export interface Values {
  string(name: string): string | undefined;
  strings(name: string): readonly string[];
  bool(name: string): boolean;
  number(name: string): number;
  isSet(name: string): boolean;
}

export interface Invocation extends Terminal {
  readonly args: readonly string[];
  /** Arguments after `--`. */
  readonly trailing: readonly string[];
  readonly values: Values;
  /** The API server; connects on first use. */
  readonly api: Api;
  /** Namespace of the command line, else of the configuration, else `default`. */
  readonly namespace: string;
}

export interface Command {
  readonly name: string;
  /** Usage after the command's name: `TYPE [NAME]`. */
  readonly usage: string;
  readonly summary: string;
  /** Complete command lines. */
  readonly examples: readonly string[];
  readonly options: OptionTable;
  /** Whether it needs no API server. */
  readonly offline?: true;
  /** Whether --as names the user that the command is about, instead of a user to impersonate. Absent: never. */
  readonly isAboutUser?: (invocation: Pick<Invocation, 'args' | 'values'>) => boolean;
  /** Runs the command; undefined means exit code 0. */
  run(invocation: Invocation): Promise<number | undefined>;
}
