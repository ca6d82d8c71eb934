import t from 'tap';
import { readKubectlOutput } from '#test/outsiders/suites/kubectl.js';

t.test('reads groups of the script', async (t) => {
  const text = `Recording: record_command_canary
bogus: command not found
Recording: run_one_tests
fine
Recording: run_two_tests
pod/valid created
\u001b[1m\u001b[31mFAIL!
\u001b(B\u001b[mexpected a, got b
!!! [1128 17:25:59] Call tree:
!!! [1128 17:25:59]  1: core.sh:47 run_two_tests(...)
Error when running run_two_tests
`;
  const failure = { name: 'run_two_tests', reason: 'pod/valid created FAIL! expected a, got b' };
  t.same(readKubectlOutput(`${text}FAILED TESTS: run_two_tests`), { passed: 1, skipped: 0, failures: [failure] });
  t.match(readKubectlOutput(text).failures, [failure, { name: 'the script', reason: /^ended before its end/ }]);
});
