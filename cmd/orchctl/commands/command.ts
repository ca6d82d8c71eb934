/** The interface between orchctl and its commands. */

import type { Api } from '#cmd/orchctl/api/api.js';
import type { Terminal } from '#cmd/orchctl/terminal/terminal.js';
import type { Values } from '#cmd/orchctl/terminal/values.js';
import type { OptionTable } from '#daemon/options/option.js';

export interface Invocation extends Terminal {
  readonly args: readonly string[];
  /** Arguments after `--`. */
  readonly trailing: readonly string[];
  readonly values: Values;
  /** The API server; connects on first use. */
  readonly api: Api;
  /** Namespace of the command line, else of the configuration, else `default`. */
  readonly namespace: string;
  /** The words of the command: `orchctl create secret`. */
  readonly path: string;
}

/** What the arguments of a command name, for completion. */
export type Argument = 'types' | 'objects' | 'pods' | 'nodes' | 'containers' | 'contexts' | 'clusters' | 'users';

export interface Command {
  readonly name: string;
  /** Usage after the command's name: `TYPE [NAME]`. */
  readonly usage: string;
  readonly summary: string;
  /** Complete command lines. */
  readonly examples: readonly string[];
  readonly options: OptionTable;
  /** Other names. */
  readonly aliases?: readonly string[];
  /** Commands that are named after this one; it runs itself where none is named. */
  readonly subcommands?: readonly Listed[];
  /** Whether it needs no API server. */
  readonly offline?: true;
  /** Whether these options make it need none. */
  readonly worksOffline?: (values: Values) => boolean;
  /** Whether --as names the user that the command is about, instead of a user to impersonate. Absent: never. */
  readonly isAboutUser?: (invocation: Pick<Invocation, 'args' | 'values'>) => boolean;
  /** What its arguments name. Absent: nothing that can be completed. */
  readonly completes?: Argument;
  /** Runs the command; undefined means exit code 0. */
  run(invocation: Invocation): Promise<number | undefined>;
}

/** A command whose code is imported when it runs, so that others start without it. */
export interface CommandEntry {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** Heading in the overview. */
  readonly section?: string;
  readonly summary: string;
  load(): Promise<Command>;
}

export type Listed = Command | CommandEntry;

export function loaded(listed: Listed): Promise<Command> {
  return 'load' in listed ? listed.load() : Promise.resolve(listed);
}

/** The command of that name. */
export function named(commands: readonly Listed[], word: string): Listed | undefined {
  return commands.find(({ name, aliases = [] }) => name === word || aliases.includes(word));
}
