import t from 'tap';
import { longestFirst } from './order.js';

t.test('what takes longest comes first, and the rest by name', async (t) => {
  const files = [
    'dist/pkg/b.test.js',
    'dist/pkg/a.test.js',
    'dist/test/integration/x.test.js',
    'dist/test/e2e/y.test.js',
  ];
  const kubectl = ['dist/test/e2e/kubectl/workloads.test.js', 'dist/test/e2e/kubectl/session.test.js'];
  t.same(longestFirst([...files, ...kubectl]), [kubectl[1], kubectl[0], files[3], files[2], files[1], files[0]]);
});
