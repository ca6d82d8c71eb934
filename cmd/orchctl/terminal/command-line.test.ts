import t from 'tap';
import { firstWord } from '#cmd/orchctl/terminal/command-line.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';
import { reportOf } from '#cmd/orchctl/terminal/report.js';
import { statusError } from '#cmd/orchctl/terminal/testing/status.js';

const globalOptions = {
  namespace: { type: 'string', shorthand: 'n', section: 's', meaning: 'm' },
  config: { type: 'string', aliases: ['kubeconfig'], section: 's', meaning: 'm' },
  'insecure-skip-tls-verify': { type: 'bool', section: 's', meaning: 'm' },
} as const;

t.test('finds the command between flags', (t) => {
  const isCommand = (word: string) => word === 'get' || word === 'logs';
  for (const [line, word, rest] of [
    ['get pods -n x', 'get', 'pods -n x'],
    ['-n x get pods', 'get', '-n x pods'],
    ['--namespace x get', 'get', '--namespace x'],
    ['--namespace=x get', 'get', '--namespace=x'],
    ['-nx get', 'get', '-nx'],
    ['--insecure-skip-tls-verify get pods', 'get', '--insecure-skip-tls-verify pods'],
    ['--kubeconfig f get', 'get', '--kubeconfig f'],
    ['-o yaml get pods', 'get', '-o yaml pods'],
    ['-A get pods', 'get', '-A pods'],
    ['-l get logs web', 'get', '-l logs web'],
    ['gett pods', 'gett', 'pods'],
    ['-n x', undefined, undefined],
    ['-h', undefined, undefined],
    ['-- get', undefined, undefined],
  ] as const) {
    const first = firstWord(line.split(' '), globalOptions, isCommand);
    t.equal(first?.word, word, line);
    t.equal(first?.rest.join(' '), rest, line);
  }
  t.end();
});

t.test('ends with the words of the other client', (t) => {
  const causes = [
    { field: 'spec.a', message: 'Required value', reason: 'FieldValueRequired' },
    { field: 'spec.b', message: 'Invalid value: 1', reason: 'FieldValueInvalid' },
  ];
  const invalid = (some: object[]) =>
    statusError({ code: 422, reason: 'Invalid', message: 'no', details: { kind: 'Pod', name: 'a', causes: some } });
  for (const [error, text] of [
    [invalid(causes.slice(0, 1)), 'The Pod "a" is invalid: spec.a: Required value\n'],
    [invalid(causes), 'The Pod "a" is invalid: \n* spec.a: Required value\n* spec.b: Invalid value: 1\n'],
    [statusError({ code: 404, reason: 'NotFound', message: 'gone' }), 'Error from server (NotFound): gone\n'],
    [
      statusError({ code: 401, reason: 'Unauthorized', message: 'x' }),
      'error: You must be logged in to the server (x)\n',
    ],
    [statusError({ code: 418, message: 'x' }), 'Error from server: x\n'],
    [new UsageError('bad'), "error: bad\nSee 'orchctl get -h' for help and examples\n"],
    [
      new AggregateError([new Error('a'), statusError({ reason: 'NotFound', message: 'b' })]),
      'a\nError from server (NotFound): b\n',
    ],
    [
      new Error('no', { cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED', address: '1.2.3.4', port: 5 }) }),
      'The connection to the server 1.2.3.4:5 was refused - did you specify the right host or port?\n',
    ],
  ] as const) {
    t.same(reportOf(error, 'orchctl get'), { text, exitCode: 1 }, text);
  }
  t.end();
});
