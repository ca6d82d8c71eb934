import t from 'tap';
import { formatReport } from '#test/outsiders/report.js';

t.test('a report has a row for each suite and a line for each failure', async (t) => {
  const failures = [{ name: 'one', reason: 'first line\n  second line' }];
  t.equal(
    formatReport([
      { suite: 'bundles', passed: 12, failures, skipped: 0 },
      { suite: 'apiextensions', passed: 0, failures: [], skipped: 0, note: 'Go is missing' },
    ]),
    [
      'suite          passed  failed  skipped',
      'bundles        12      1       0',
      'apiextensions  0       0       0        Go is missing',
      'FAIL bundles: one: first line second line',
    ].join('\n'),
  );
  t.match(
    formatReport([{ suite: 's', passed: 0, skipped: 0, failures: [{ name: 'n', reason: 'x'.repeat(999) }] }]),
    /x…$/,
  );
});
