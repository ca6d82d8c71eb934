/** `orchctl test pods`: how the simulated pods of a test cluster behave. */
import type { Command } from '#cmd/orchctl/commands/command.js';
import { commandGroup } from '#cmd/orchctl/commands/group.js';
import { callTest, fileOption, readPlan } from '#cmd/orchctl/commands/testing/plan-file.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';

const path = '/test/pods';

interface Rules {
  readonly rules: readonly unknown[];
}

const apply: Command = {
  name: 'apply',
  usage: '-f FILE',
  summary: 'Replace the rules of simulated pods by those of a file',
  examples: ['orchctl test pods apply -f pods.yaml'],
  options: fileOption,
  async run(invocation) {
    const { rules } = await callTest<Rules>(invocation.api, 'POST', path, await readPlan(invocation));
    invocation.out.write(`rules of pods: ${rules.length}\n`);
    return 0;
  },
};

const list: Command = {
  name: 'list',
  usage: '',
  summary: 'Print the rules of simulated pods as JSON',
  examples: ['orchctl test pods list'],
  options: {},
  async run({ api, args, out }) {
    if (args.length > 0) throw new UsageError('test pods list takes no arguments');
    out.write(`${JSON.stringify(await callTest<Rules>(api, 'GET', path), undefined, 2)}\n`);
    return 0;
  },
};

const clear: Command = {
  name: 'clear',
  usage: '',
  summary: 'Remove the rules of simulated pods',
  examples: ['orchctl test pods clear'],
  options: {},
  async run({ api, args, out }) {
    if (args.length > 0) throw new UsageError('test pods clear takes no arguments');
    await callTest(api, 'DELETE', path);
    out.write('no rules of pods\n');
    return 0;
  },
};

export const podRules: Command = commandGroup({
  name: 'pods',
  summary: 'Set how the simulated pods behave',
  examples: ['orchctl test pods apply -f pods.yaml', 'orchctl test pods list', 'orchctl test pods clear'],
  subcommands: [apply, list, clear],
});
