import t from 'tap';
import { readGoOutput } from '#test/outsiders/go-output.js';

t.test('reads plain tests', async (t) => {
  const text = `=== RUN   TestOne
--- PASS: TestOne (0.1s)
=== RUN   TestTwo
    two_test.go:7: expected 1, got 2
--- FAIL: TestTwo (0.2s)
--- SKIP: TestThree (0.0s)
FAIL
FAIL\texample.com/broken [build failed]`;
  t.same(readGoOutput(text), {
    passed: 1,
    skipped: 1,
    failures: [
      { name: 'TestTwo', reason: 'two_test.go:7: expected 1, got 2' },
      { name: 'example.com/broken', reason: 'build failed' },
    ],
  });
});

t.test('counts the specs of a Ginkgo suite instead of the test that runs them', async (t) => {
  const text = `=== RUN   TestSuite
Summarizing 1 Failure:

\u001b[91m[Fail] \u001b[0mClient Create [It] says so
/src/client_test.go:12

Ran 6 of 9 Specs in 1.0 seconds
FAIL! -- 5 Passed | 1 Failed | 1 Pending | 2 Skipped
--- FAIL: TestSuite (1.0s)
=== RUN   TestMore
Ran 2 of 2 Specs in 1.0 seconds
SUCCESS! -- 2 Passed | 0 Failed | 0 Flaked | 0 Pending | 0 Skipped
--- PASS: TestMore (1.0s)`;
  t.same(readGoOutput(text), {
    passed: 7,
    skipped: 3,
    failures: [{ name: 'Client Create [It] says so', reason: '/src/client_test.go:12' }],
  });
});

t.test('names the suite of a single failure, which Ginkgo does not summarize', async (t) => {
  const text = `Not enough workloads
Ran 15 of 15 Specs in 53.280 seconds
FAIL! -- 14 Passed | 1 Failed | 0 Pending | 0 Skipped
--- FAIL: TestScheduler (53.28s)`;
  const { passed, failures } = readGoOutput(text);
  t.equal(passed, 14, 'passed specs');
  t.match(failures, [{ name: 'TestScheduler', reason: /Not enough workloads/ }], 'the failure');
});
