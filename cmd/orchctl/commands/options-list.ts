/** `options`: the flags that all commands take. */
import type { Command } from '#cmd/orchctl/commands/command.js';
import { globalOptions } from '#cmd/orchctl/commands/options.js';
import { helpText } from '#daemon/options/help.js';

export const optionsList: Command = {
  name: 'options',
  usage: '',
  summary: 'List the flags that all commands take',
  examples: ['orchctl options'],
  options: {},
  offline: true,
  run: async ({ out }) => {
    const description = 'The following options can be passed to any command';
    out.write(helpText(globalOptions, { program: 'orchctl COMMAND', description }));
    return 0;
  },
};
