/** Saves and restores the whole state of a test cluster. */
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { commandGroup } from '#cmd/orchctl/commands/group.js';
import { alignColumns } from '#cmd/orchctl/print/table.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';

interface Snapshot {
  readonly name: string;
  readonly objects: number;
  readonly time: string;
}

const path = '/test/snapshots';

function nameIn({ args, path: words }: Invocation): string {
  const [name, ...more] = args;
  if (name === undefined || more.length > 0) throw new UsageError(`use: ${words} NAME`);
  return name;
}

const save: Command = {
  name: 'save',
  usage: 'NAME',
  summary: "Save the cluster's state, in place of an earlier one of that name",
  examples: ['orchctl snapshot save empty'],
  options: {},
  async run(invocation) {
    const { objects } = await invocation.api.json<Snapshot>('POST', path, { save: nameIn(invocation) });
    invocation.out.write(`saved ${objects} objects\n`);
    return 0;
  },
};

const restore: Command = {
  name: 'restore',
  usage: 'NAME',
  summary: 'Restore a saved state; follow it with orchctl settle',
  examples: ['orchctl snapshot restore empty'],
  options: {},
  async run(invocation) {
    const body = { restore: nameIn(invocation) };
    const { changed, time } = await invocation.api.json<Snapshot & { readonly changed: number }>('POST', path, body);
    invocation.out.write(`restored ${changed} objects; saved at ${time}\n`);
    return 0;
  },
};

const list: Command = {
  name: 'list',
  usage: '',
  summary: 'List saved states',
  examples: ['orchctl snapshot list'],
  options: {},
  async run({ api, args, out }) {
    if (args.length > 0) throw new UsageError('snapshot list takes no arguments');
    const { snapshots } = await api.json<{ readonly snapshots: readonly Snapshot[] }>('GET', path);
    const rows = snapshots.map(({ name, objects, time }) => [name, String(objects), time]);
    for (const line of alignColumns([['NAME', 'OBJECTS', 'TIME'], ...rows])) out.write(`${line}\n`);
    return 0;
  },
};

const remove: Command = {
  name: 'delete',
  usage: 'NAME',
  summary: 'Delete a saved state',
  examples: ['orchctl snapshot delete empty'],
  options: {},
  async run(invocation) {
    const name = nameIn(invocation);
    await invocation.api.json('DELETE', `${path}?name=${encodeURIComponent(name)}`);
    invocation.out.write(`deleted ${name}\n`);
    return 0;
  },
};

export const snapshot = commandGroup({
  name: 'snapshot',
  summary: 'Save and restore the whole state of a test cluster',
  examples: ['orchctl snapshot save empty', 'orchctl snapshot restore empty'],
  subcommands: [save, restore, list, remove],
});
