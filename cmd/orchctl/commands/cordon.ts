/** Whether nodes take pods. */
import { setUnschedulable } from '#client/drain/drain.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';

export const cordon: Command = {
  name: 'cordon',
  usage: 'NODE…',
  summary: 'Let nodes take no more pods',
  examples: ['orchctl cordon node-1'],
  options: {},
  run: (invocation) => setEach(invocation, true),
};

export const uncordon: Command = {
  name: 'uncordon',
  usage: 'NODE…',
  summary: 'Let nodes take pods again',
  examples: ['orchctl uncordon node-1'],
  options: {},
  run: (invocation) => setEach(invocation, false),
};

async function setEach({ api, args, out }: Invocation, unschedulable: boolean): Promise<number> {
  const names = nodeNames(args);
  const { dialect } = await api.catalog();
  const client = await api.client(dialect);
  const done = unschedulable ? 'cordoned' : 'uncordoned';
  for (const name of names) {
    const changed = await setUnschedulable(client, name, unschedulable);
    out.write(`node/${name} ${changed ? '' : 'already '}${done}\n`);
  }
  return 0;
}

/** `NAME` or `node/NAME`. Throws a UsageError without any. */
export function nodeNames(args: readonly string[]): string[] {
  if (args.length === 0) throw new UsageError('name the nodes');
  return args.map((arg) => arg.replace(/^(nodes?|no)\//, ''));
}
