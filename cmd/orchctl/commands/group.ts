/** Commands that only have subcommands. */
import type { Command, Invocation, Listed } from '#cmd/orchctl/commands/command.js';
import { commandHelp } from '#cmd/orchctl/commands/help.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';
import { nearNames } from '#daemon/options/near-names.js';

export interface Group {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly summary: string;
  readonly examples: readonly string[];
  readonly subcommands: readonly Listed[];
  readonly offline?: true;
}

/** Prints its help where no subcommand is named. Throws a UsageError for an unknown one. */
export function commandGroup(group: Group): Command {
  const command: Command = {
    ...group,
    usage: 'SUBCOMMAND',
    options: {},
    run: async ({ args, out, path }: Invocation) => {
      const [unknown] = args;
      if (unknown !== undefined) throw unknownSubcommand(unknown, group.subcommands);
      out.write(commandHelp(command, path));
      return 0;
    },
  };
  return command;
}

function unknownSubcommand(word: string, commands: readonly Listed[]): UsageError {
  const near = nearNames(
    word,
    commands.map(({ name }) => name),
  );
  const hint = near.length === 0 ? '' : `, did you mean ${near.map((name) => JSON.stringify(name)).join(' or ')}?`;
  return new UsageError(`unknown command ${JSON.stringify(word)}${hint}`);
}
