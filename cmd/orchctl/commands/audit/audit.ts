/** Searches audit logs of the API server. */
import { shownEvents } from '#cmd/orchctl/commands/audit/events.js';
import { eventFilter } from '#cmd/orchctl/commands/audit/filter.js';
import { EventTable } from '#cmd/orchctl/commands/audit/table.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';

export const audit: Command = {
  name: 'audit',
  usage: '[FILE…]',
  summary: 'Search audit logs of the API server by object, user, verb, time and code, without a server',
  examples: [
    'orchctl audit logs/audit.log --object secrets --since 24h',
    'orchctl audit logs/audit.log --user jane --verb delete -n shop',
    'orchctl audit logs/audit.log --object deployments.apps/web -o json',
    'orchctl audit audit.log --code 4xx --since-time 2022-05-03T08:00:00Z --until-time 2022-05-03T09:00:00Z',
    'ssh master cat /var/log/audit.log | orchctl audit --code 403',
  ],
  offline: true,
  options: {
    object: {
      type: 'strings',
      section: 'Selection',
      meaning:
        'Type of the objects, `secrets` or `deployments.apps`, perhaps with a name: `pods/web-0`, `pods/web-*`. A type without a group matches every group.',
    },
    namespace: { type: 'string', shorthand: 'n', section: 'Selection', meaning: 'Namespace of the objects.' },
    subresource: { type: 'strings', section: 'Selection', meaning: 'Subresource, such as `exec`.' },
    path: {
      type: 'strings',
      section: 'Selection',
      meaning: 'Path of the request; `/debug/*`: every path that begins so.',
    },
    user: {
      type: 'strings',
      section: 'Selection',
      meaning: 'User who sent the request, or as whom it acted; `system:node:*`: every user whose name begins so.',
    },
    verb: { type: 'strings', section: 'Selection', meaning: 'Verb, such as `delete`.' },
    code: { type: 'strings', section: 'Selection', meaning: 'Status code of the response: `403`, `4xx` or `400-499`.' },
    id: { type: 'strings', section: 'Selection', meaning: 'Audit ID of the request, as in the header Audit-ID.' },
    since: {
      type: 'duration',
      section: 'Selection',
      meaning: 'Only requests that arrived within this time, such as 2h.',
    },
    'since-time': {
      type: 'string',
      section: 'Selection',
      meaning: 'Only requests that arrived at this time (RFC 3339) or later.',
    },
    'until-time': {
      type: 'string',
      section: 'Selection',
      meaning: 'Only requests that arrived before this time (RFC 3339).',
    },
    'all-stages': {
      type: 'bool',
      section: 'Selection',
      meaning: 'Each stage of a request. Default: its end, or its beginning where the log has no end.',
    },
    'one-file': {
      type: 'bool',
      section: 'Selection',
      meaning:
        'Only the named files. Default: also the files that their rotation has put aside, compressed ones included.',
    },
    output: {
      type: 'string',
      shorthand: 'o',
      section: 'Output',
      oneOf: ['wide', 'json'],
      meaning: 'Output format; json: the events as they are in the log, one per line.',
    },
    'no-headers': { type: 'bool', section: 'Output', meaning: 'Print no header row.' },
  },
  run: search,
};

async function search(invocation: Invocation): Promise<number> {
  const { values, out, err, args } = invocation;
  if (args.length === 0 && invocation.stdin.isTTY === true) {
    throw new UsageError('name an audit log, or send one to standard input: audit < FILE');
  }
  const filter = eventFilter(values, invocation.clock.now());
  const form = values.string('output');
  const table = new EventTable(out, { wide: form === 'wide', header: !values.bool('no-headers') });
  let count = 0;
  const report = await shownEvents(invocation, filter, (event, line) => {
    count += 1;
    if (form === 'json') out.write(`${line}\n`);
    else table.add(event);
  });
  table.flush();
  if (report.unreadable > 0) {
    err.write(`Warning: ${report.unreadable} lines are no events in JSON, and were left out\n`);
  }
  if (count === 0) err.write('No event matches.\n');
  return 0;
}
