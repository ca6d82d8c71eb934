import t from 'tap';
import { differingTests, failedPackages, totalsOf, withSecondRun } from '#test/outsiders/envtest/differences.js';
import { type Counts, readGoJson } from '#test/outsiders/envtest/go-json.js';
import { withRow } from '#test/outsiders/envtest/page.js';

const lines = (...records: readonly object[]) => records.map((record) => JSON.stringify(record)).join('\n');
const output = (name: string, text: string) => ({ Action: 'output', Package: name, Output: `${text}\n` });

t.test('reads results by package', async (t) => {
  const text = `go: downloading example.com/x
${lines(
  output('a', '--- PASS: TestOne (0.1s)'),
  output('b', '    b_test.go:7: expected 1'),
  output('b', '--- FAIL: TestTwo (0.2s)'),
  { Action: 'fail', Package: 'b' },
  output('a', '--- SKIP: TestThree (0.0s)'),
  { Action: 'pass', Package: 'a' },
  output('none', '?   \\tnone\\t[no test files]'),
  output('slow', 'panic: test timed out after 30m0s'),
  { Action: 'fail', Package: 'slow' },
  { ImportPath: 'broken [broken.test]', Action: 'build-output', Output: 'x.go:1: undefined: y\n' },
  { ImportPath: 'broken [broken.test]', Action: 'build-fail' },
  { Action: 'fail', Package: 'broken', FailedBuild: 'broken [broken.test]' },
)}
{ no JSON`;
  t.strictSame(
    Object.fromEntries(readGoJson(text)),
    {
      a: { passed: 1, skipped: 1, failures: [] },
      b: { passed: 0, skipped: 0, failures: [{ name: 'TestTwo', reason: 'b_test.go:7: expected 1' }] },
      slow: { passed: 0, skipped: 0, failures: [{ name: 'slow', reason: 'panic: test timed out after 30m0s' }] },
      broken: { passed: 0, skipped: 0, failures: [{ name: 'broken', reason: 'x.go:1: undefined: y' }] },
    },
    'counts and failures of each package with tests',
  );
});

const counts = (passed: number, ...failed: readonly string[]): Counts => ({
  passed,
  skipped: 1,
  failures: failed.map((name) => ({ name, reason: 'no' })),
});

t.test('a second run replaces the packages that it ran', async (t) => {
  const first = new Map([
    ['a', counts(3)],
    ['b', counts(2, 'One')],
  ]);
  t.strictSame(failedPackages(first), ['b'], 'packages to run again');
  t.strictSame(
    totalsOf(withSecondRun(first, new Map([['b', counts(3)]]))),
    { passed: 6, failed: 0, skipped: 2 },
    'totals after the second run',
  );
});

t.test('tests differ that fail on one side', async (t) => {
  const own = new Map([['a', counts(3, 'Both', 'Known [It]', 'New')]]);
  const peer = new Map([['a', counts(3, 'Both', 'Theirs')]]);
  const expected = [{ test: /^Known/, reason: 'It is so.' }];
  t.strictSame(
    differingTests(own, peer, expected).map(({ name, failsOn, reason }) => [name, failsOn, reason]),
    [
      ['Known [It]', 'own', 'It is so.'],
      ['New', 'own', ''],
      ['Theirs', 'peer', ''],
    ],
    'names, sides and reasons',
  );
  t.equal(differingTests(own, undefined, expected).length, 3, 'without a comparison each failure differs');
});

t.test('a row of a page is replaced or inserted in order', async (t) => {
  const page = (...rows: readonly string[]) =>
    [
      '# Page',
      '<!-- suites: begin -->',
      '| suite | version | result |',
      '|---|---|---|',
      ...rows,
      '<!-- suites: end -->',
    ].join('\n');
  const [a, b] = ['| a | 1 | new |', '| b | 1 | old |'];
  t.equal(withRow(page(b), 'suites', ['a', '1'], ['new']), page(a, b), 'a new row');
  t.equal(withRow(page('| a | 1 | old |', b), 'suites', ['a', '1'], ['new']), page(a, b), 'a replaced row');
  t.throws(() => withRow('# Page', 'suites', ['a', '1'], []), /has no section suites/, 'a page without marks');
});
