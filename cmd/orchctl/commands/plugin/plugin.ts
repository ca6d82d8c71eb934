/** `plugin list`: the programs that act as commands. */
import { join } from 'node:path';
import type { Command, Listed } from '#cmd/orchctl/commands/command.js';
import { commandGroup } from '#cmd/orchctl/commands/group.js';
import { commandName, pluginFiles } from '#cmd/orchctl/commands/plugin/programs.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

const listCommand = (commands: readonly Listed[]): Command => ({
  name: 'list',
  usage: '',
  summary: 'List the programs named orchctl-NAME and kubectl-NAME in the PATH',
  examples: ['orchctl plugin list'],
  offline: true,
  options: {
    'name-only': { type: 'bool', section: 'Output', meaning: 'Print names of files instead of paths.' },
  },
  async run({ env, err, out, values }) {
    const files = pluginFiles(env);
    if (files.length === 0) throw new CommandError('unable to find any orchctl plugins in your PATH');
    out.write('The following compatible plugins are available:\n\n');
    const paths = new Map<string, string>();
    let warnings = 0;
    const warn = (text: string) => {
      warnings += 1;
      err.write(`  - warning: ${text}\n`);
    };
    for (const { folder, file, isExecutable } of files) {
      const path = join(folder, file);
      const earlier = paths.get(file);
      out.write(`${values.bool('name-only') ? file : path}\n`);
      if (!isExecutable) warn(`${path} identified as an orchctl plugin, but it is not executable`);
      if (earlier === undefined) paths.set(file, path);
      else warn(`${path} is overshadowed by a similarly named plugin: ${earlier}`);
      const name = commandName(file);
      if (commands.some((each) => each.name === name)) {
        warn(`${file} overwrites existing command: ${JSON.stringify(`orchctl ${name}`)}`);
      }
    }
    if (warnings === 0) return 0;
    throw new CommandError(warnings === 1 ? 'one plugin warning was found' : `${warnings} plugin warnings were found`);
  },
});

/** @param commands Those of the program, which plugins cannot replace. */
export function pluginCommand(commands: readonly Listed[]): Command {
  return commandGroup({
    name: 'plugin',
    summary: 'List programs in the PATH that act as commands',
    examples: ['orchctl plugin list'],
    offline: true,
    subcommands: [listCommand(commands)],
  });
}
