/** Help for people: the overview of all commands, and the page of one. */
import type { Command, Listed } from '#cmd/orchctl/commands/command.js';
import { globalOptions } from '#cmd/orchctl/commands/options.js';
import { helpText } from '#daemon/options/help.js';
import type { OptionTable } from '#daemon/options/option.js';

export function overview(commands: readonly Listed[], program: string): string {
  const sections = new Map<string, Listed[]>();
  for (const command of commands) {
    const section = ('section' in command ? command.section : undefined) ?? 'Commands';
    sections.set(section, [...(sections.get(section) ?? []), command]);
  }
  const parts = [...sections].map(([title, members]) => `${title}:\n${rows(members)}\n`);
  return [
    `orchctl talks to an orch cluster.\n\nUsage:\n  ${program} COMMAND [flags]\n`,
    ...parts,
    `Details of a command: ${program} COMMAND --help\n`,
  ].join('\n');
}

function rows(commands: readonly Listed[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length)) + 3;
  return commands.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}`).join('\n');
}

/** @param path The words of the command: `orchctl create secret`. */
export function commandHelp(command: Command, path: string): string {
  const { aliases = [], examples, offline, options: own, subcommands = [], summary, usage } = command;
  const options: OptionTable = offline === true ? own : { ...globalOptions, ...own };
  const parts = [`${summary}.`];
  if (aliases.length > 0) parts.push(`Also: ${aliases.join(', ')}.`);
  if (examples.length > 0) parts.push(`Examples:\n${examples.map((line) => `  ${line}`).join('\n')}`);
  if (subcommands.length > 0) parts.push(`Subcommands:\n${rows(subcommands)}`);
  return helpText(options, { program: `${path} ${usage}`.trim(), description: parts.join('\n\n') });
}
