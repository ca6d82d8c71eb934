/** Marks nodes as unschedulable or schedulable. */
import { setUnschedulable } from '#client/drain/drain.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';

export const cordon: Command = {
  name: 'cordon',
  usage: 'NODE…',
  summary: 'Mark nodes as unschedulable',
  examples: ['orchctl cordon node-1'],
  completes: 'nodes',
  options: {},
  run: (invocation) => setEach(invocation, true),
};

export const uncordon: Command = {
  name: 'uncordon',
  usage: 'NODE…',
  summary: 'Mark nodes as schedulable',
  examples: ['orchctl uncordon node-1'],
  completes: 'nodes',
  options: {},
  run: (invocation) => setEach(invocation, false),
};

async function setEach({ api, args, out }: Invocation, unschedulable: boolean): Promise<number> {
  const verb = unschedulable ? 'cordon' : 'uncordon';
  if (args.length === 0) throw new UsageError(`USAGE: ${verb} NODE [flags]`);
  const names = nodeNames(args);
  const { dialect } = await api.catalog();
  const client = await api.client(dialect);
  for (const name of names) {
    const changed = await setUnschedulable(client, name, unschedulable);
    out.write(`node/${name} ${changed ? '' : 'already '}${verb}ed\n`);
  }
  return 0;
}

/** Parses `NAME` or `node/NAME`. Throws a UsageError if there are none. */
export function nodeNames(args: readonly string[]): string[] {
  if (args.length === 0) throw new UsageError('name the nodes');
  return args.map((arg) => arg.replace(/^(nodes?|no)\//, ''));
}
