import t from 'tap';
import { conformanceTests, focusOn } from '#test/outsiders/conformance/tests.js';

const list = `- testname: Daemon set, creation
  codename: '[sig-apps] Daemon set [Serial] should run and stop simple
    daemon [Conformance]'
  file: test/e2e/apps/daemon_set.go
- testname: Taints
  codename: '[sig-node] Single Pod [Disruptive] [Conformance]'
- testname: Pods
  codename: '[sig-node] Pods should be updated [Conformance]'
`;

t.test('tests that need the cluster for themselves are apart', async (t) => {
  t.same(conformanceTests(list, ''), {
    together: ['[sig-node] Pods should be updated [Conformance]'],
    alone: [
      '[sig-apps] Daemon set [Serial] should run and stop simple daemon [Conformance]',
      '[sig-node] Single Pod [Disruptive] [Conformance]',
    ],
  });
});

t.test('a focus chooses among both', async (t) => {
  t.same(conformanceTests(list, 'sig-apps.*Serial'), {
    together: [],
    alone: ['[sig-apps] Daemon set [Serial] should run and stop simple daemon [Conformance]'],
  });
});

t.test('what is no list of tests', async (t) => {
  t.throws(() => conformanceTests('tests: []', ''), /no list/);
  t.throws(() => conformanceTests('- testname: Pods', ''), /no test/);
});

t.test('Ginkgo is asked for names to the letter', async (t) => {
  t.equal(focusOn(['[a] b.c (d)', 'e|f']), '\\[a\\] b\\.c \\(d\\)|e\\|f');
});
