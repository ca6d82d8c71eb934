/** `orchctl test report`: what the clients of a test cluster did. */
import { queryString } from '#client/rest/paths.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { callTest } from '#cmd/orchctl/commands/testing/plan-file.js';
import { alignColumns } from '#cmd/orchctl/print/table.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';
import type { Report } from '#testcluster/report/report.js';

const path = '/test/report';
/** Kinds of requests shown per client. */
const shownRequests = 10;

export const report: Command = {
  name: 'report',
  usage: '',
  summary: 'Show what clients did: requests, hot loops, conflicts, leftovers',
  examples: [
    'orchctl test report',
    "orchctl test report --user-agent 'my-operator*' --fail-on hot-loops,leftovers,finalizers",
    'orchctl test report -o json --reset',
  ],
  options: {
    'fail-on': {
      type: 'strings',
      section: 'Output',
      meaning:
        'Exit with code 1 if there is a finding of these categories: hot-loops, polling, full-lists, no-backoff, conflicts, unretried, lost-updates, deletes, owners, leftovers, finalizers, watches; all for `all`.',
    },
    'user-agent': {
      type: 'string',
      default: '*',
      section: 'Selection',
      meaning: 'Clients to report by their User-Agent header; `*` stands for any characters.',
    },
    output: { type: 'string', shorthand: 'o', section: 'Output', meaning: '`json`, or absent for tables.' },
    reset: { type: 'bool', section: 'Output', meaning: 'Begin a new report afterwards.' },
  },
  async run(invocation) {
    const { api, args, out, values } = invocation;
    const output = values.string('output') ?? '';
    if (args.length > 0) throw new UsageError('test report takes no arguments');
    if (output !== '' && output !== 'json')
      throw new UsageError(`--output must be json, not ${JSON.stringify(output)}`);
    const failOn = values.strings('fail-on').join(',');
    const query = queryString({ failOn, userAgent: values.string('user-agent') });
    const shown = await callTest<Report>(api, 'GET', `${path}${query}`);
    if (values.bool('reset')) await callTest(api, 'DELETE', path);
    if (output === 'json') out.write(`${JSON.stringify(shown, undefined, 2)}\n`);
    else write(shown, invocation);
    return shown.failed.length > 0 ? 1 : 0;
  },
};

function write({ clients, findings, faults, clusterSeconds, seconds, failed }: Report, { out, err }: Invocation): void {
  const table = (rows: readonly (readonly string[])[]) => out.write(`${alignColumns(rows).join('\n')}\n`);
  out.write(`${seconds} s, ${clusterSeconds} s of the cluster's clock\n\n`);
  const requests = clients.flatMap(({ userAgent, byRequest, perSecond = 0 }) =>
    byRequest.slice(0, shownRequests).map(({ verb, resource, count, errors }, i) => [
      i === 0 ? userAgent : '',
      ...(i === 0 ? [String(perSecond)] : ['']),
      verb,
      resource,
      String(count),
      Object.entries(errors)
        .map(([reason, times]) => `${reason} ${times}`)
        .join(', '),
    ]),
  );
  table([['CLIENT', 'PER SECOND', 'VERB', 'RESOURCE', 'COUNT', 'ERRORS'], ...requests]);
  if (faults.length > 0) {
    out.write('\n');
    table([
      ['FAULT', 'MATCHED', 'INJECTED'],
      ...faults.map(({ name, matched, injected }) => [name, String(matched), String(injected)]),
    ]);
  }
  out.write('\n');
  if (findings.length === 0) out.write('No findings.\n');
  else {
    const rows = findings.map(({ category, userAgent, subject, message }) => [category, userAgent, subject, message]);
    table([['FINDING', 'CLIENT', 'SUBJECT', 'WHAT'], ...rows]);
  }
  if (failed.length > 0) err.write(`error: there are findings of ${failed.join(', ')}\n`);
}
