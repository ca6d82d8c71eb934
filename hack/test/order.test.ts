import t from 'tap';
import { inOrder } from './order.js';

const cases: readonly (readonly [string, string[], string[][]])[] = [
  ['by name', ['dist/pkg/b/b.test.js', 'dist/cmd/a.test.js'], [['dist/cmd/a.test.js'], ['dist/pkg/b/b.test.js']]],
  [
    'the longest first',
    ['dist/cmd/a.test.js', 'dist/test/integration/b.test.js', 'dist/test/e2e/y.test.js', 'dist/test/e2e/chaos.test.js'],
    [
      ['dist/test/e2e/chaos.test.js'],
      ['dist/test/e2e/y.test.js'],
      ['dist/test/integration/b.test.js'],
      ['dist/cmd/a.test.js'],
    ],
  ],
  [
    'some share a process',
    [
      'dist/pkg/api/core/b.test.js',
      'dist/pkg/api/apps/a.test.js',
      'dist/pkg/apiserver/c.test.js',
      'dist/pkg/pki/d.test.js',
    ],
    [
      ['dist/pkg/api/apps/a.test.js', 'dist/pkg/api/core/b.test.js'],
      ['dist/pkg/apiserver/c.test.js'],
      ['dist/pkg/pki/d.test.js'],
    ],
  ],
];
for (const [name, files, expected] of cases) t.test(name, async (t) => t.same(inOrder(files), expected));

t.test('not too many share one', async (t) => {
  const files = Array.from({ length: 40 }, (_, i) => `dist/pkg/api/${10 + i}.test.js`);
  t.same(inOrder(files).flat(), files);
  t.ok(inOrder(files).length > 1);
});
