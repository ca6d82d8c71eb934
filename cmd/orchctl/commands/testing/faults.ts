/** `orchctl faults`: errors, delays and broken watches in a test cluster. */
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { commandGroup } from '#cmd/orchctl/commands/group.js';
import { callTest, fileOption, readPlan } from '#cmd/orchctl/commands/testing/plan-file.js';
import { alignColumns } from '#cmd/orchctl/print/table.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';

const path = '/test/faults';

interface FaultList {
  readonly seed: number;
  readonly rules: readonly { readonly name: string; readonly matched: number; readonly injected: number }[];
}

const apply: Command = {
  name: 'apply',
  usage: '-f FILE',
  summary: 'Replace the rules of faults by those of a file',
  examples: ['orchctl faults apply -f faults.yaml', "echo '[{answer: 500, share: 0.1}]' | orchctl faults apply -f -"],
  options: fileOption,
  async run(invocation) {
    const { rules, seed } = await callTest<FaultList>(invocation.api, 'POST', path, await readPlan(invocation));
    invocation.out.write(`rules of faults: ${rules.length}, seed ${seed}\n`);
    return 0;
  },
};

const list: Command = {
  name: 'list',
  usage: '',
  summary: 'Show the rules of faults, and how often each matched and acted',
  examples: ['orchctl faults list'],
  options: {},
  async run({ api, args, out, err }) {
    if (args.length > 0) throw new UsageError('faults list takes no arguments');
    const { rules } = await callTest<FaultList>(api, 'GET', path);
    if (rules.length === 0) err.write('There are no rules of faults.\n');
    else {
      const rows = rules.map(({ name, matched, injected }) => [name, String(matched), String(injected)]);
      out.write(`${alignColumns([['NAME', 'MATCHED', 'INJECTED'], ...rows]).join('\n')}\n`);
    }
    return 0;
  },
};

const clear: Command = {
  name: 'clear',
  usage: '',
  summary: 'Remove all rules of faults',
  examples: ['orchctl faults clear'],
  options: {},
  async run({ api, args, out }: Invocation) {
    if (args.length > 0) throw new UsageError('faults clear takes no arguments');
    await callTest(api, 'DELETE', path);
    out.write('no rules of faults\n');
    return 0;
  },
};

export const faults: Command = commandGroup({
  name: 'faults',
  summary: 'Let a test cluster answer with errors, late, or not at all',
  examples: ['orchctl faults apply -f faults.yaml', 'orchctl faults list', 'orchctl faults clear'],
  subcommands: [apply, list, clear],
});
