import t from 'tap';
import { conformanceTests, focusOn } from '#test/outsiders/suites/conformance.js';

const list = `- testname: Daemon set, creation
  codename: '[sig-apps] Daemon set [Serial] should run and stop simple
    daemon [Conformance]'
  file: test/e2e/apps/daemon_set.go
- testname: Taints
  codename: '[sig-node] Single Pod [Disruptive] [Conformance]'
- testname: Pods
  codename: '[sig-node] Pods should be updated [Conformance]'
`;

t.test('separates tests that need the cluster for themselves', async (t) => {
  t.same(conformanceTests(list, ''), {
    together: ['[sig-node] Pods should be updated [Conformance]'],
    alone: [
      '[sig-apps] Daemon set [Serial] should run and stop simple daemon [Conformance]',
      '[sig-node] Single Pod [Disruptive] [Conformance]',
    ],
  });
});

t.test('a focus selects from both groups', async (t) => {
  t.same(conformanceTests(list, 'sig-apps.*Serial'), {
    together: [],
    alone: ['[sig-apps] Daemon set [Serial] should run and stop simple daemon [Conformance]'],
  });
});

t.test('refuses an invalid list of tests', async (t) => {
  t.throws(() => conformanceTests('tests: []', ''), /must be a list/);
  t.throws(() => conformanceTests('- testname: Pods', ''), /no test/);
});

t.test('matches names literally', async (t) => {
  t.equal(focusOn(['[a] b.c (d)', 'e|f']), '\\[a\\] b\\.c \\(d\\)|e\\|f');
});
