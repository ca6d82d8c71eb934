/** `orchctl test report`: what the clients of a test cluster did. */
import { queryString } from '#client/rest/paths.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { callTest } from '#cmd/orchctl/commands/testing/plan-file.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';
import type { Report } from '#testcluster/report/report.js';
import { reportText } from '#testcluster/report/text.js';

const path = '/test/report';

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
  async run({ api, args, err, out, values }) {
    const output = values.string('output') ?? '';
    if (args.length > 0) throw new UsageError('test report takes no arguments');
    if (output !== '' && output !== 'json')
      throw new UsageError(`--output must be json, not ${JSON.stringify(output)}`);
    const failOn = values.strings('fail-on').join(',');
    const query = queryString({ failOn, userAgent: values.string('user-agent') });
    const shown = await callTest<Report>(api, 'GET', `${path}${query}`);
    if (values.bool('reset')) await callTest(api, 'DELETE', path);
    out.write(output === 'json' ? `${JSON.stringify(shown, undefined, 2)}\n` : reportText(shown));
    if (shown.failed.length > 0) err.write(`error: there are findings of ${shown.failed.join(', ')}\n`);
    return shown.failed.length > 0 ? 1 : 0;
  },
};
