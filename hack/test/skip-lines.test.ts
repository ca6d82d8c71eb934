import t from 'tap';
import { skipLines } from './skip-lines.js';

t.test('skipped tests are told by reason', (t) => {
  const etcd = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => ({ name, why: 'no etcd' }));
  t.same(skipLines([{ name: 'x', why: '' }, ...etcd]), [
    '# 7 skipped, no etcd: a, b, c, d, e, and 2 more',
    '# 1 skipped, without a reason: x',
  ]);
  t.same(skipLines([]), []);
  t.end();
});
