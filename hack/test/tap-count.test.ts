import t from 'tap';
import { TapCount } from './tap-count.js';

function counted(text: string): TapCount {
  const count = new TapCount();
  for (const line of text.split('\n')) count.add(line);
  return count;
}

t.test('leaves count, the tests that hold them do not', (t) => {
  const { passed, failed, failures } = counted(`TAP version 14
# Subtest: outer
    # Subtest: inner
        ok 1 - a
        not ok 2 - b
          ---
          diff: 1
          ...
        1..2
    not ok 1 - inner # time=3ms
    ok 2 - c
    1..2
not ok 1 - outer # time=4ms
ok 2 - d
1..2`);
  t.same([passed, failed], [3, 1]);
  t.same(
    failures.map((line) => line.trim()).filter((line) => line.startsWith('not ok') || line.startsWith('diff')),
    ['not ok 2 - b', 'diff: 1', 'not ok 1 - inner # time=3ms', 'not ok 1 - outer # time=4ms'],
  );
  t.end();
});

t.test('what is skipped or to be done neither passes nor fails', (t) => {
  const { passed, failed, skips, failures } = counted(
    'ok 1 - a # SKIP no etcd\nnot ok 2 - b # TODO\nok 3 - c\nok 4 - d # SKIP no kubectl # time=3ms\n1..4',
  );
  t.same([passed, failed, failures], [1, 0, []]);
  t.same(skips, [
    { name: 'a', why: 'no etcd' },
    { name: 'd', why: 'no kubectl' },
  ]);
  t.end();
});

t.test('a file that skips all it has counts once', (t) => {
  const { passed, failed, skips } = counted('TAP version 14\n1..0 # no etcd');
  t.same([passed, failed, skips], [0, 0, [{ name: '', why: 'no etcd' }]]);
  t.end();
});
