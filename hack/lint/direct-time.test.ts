import t from 'tap';
import { directTime } from './direct-time.js';

t.test('time and chance of the process are faults in the product', (t) => {
  t.same(directTime('pkg/a/b.ts', 'const now = Date.now();\nconst n = Math.random();\n'), ['Date.now', 'Math.random']);
  t.same(directTime('pkg/a/b.ts', 'setTimeout(f, 1);\nsetInterval(f, 1);\nnew Date();\n'), [
    'setTimeout',
    'setInterval',
    'new Date()',
  ]);
  t.end();
});

t.test('adapters, composition, comments and methods of that name are none', (t) => {
  t.same(directTime('pkg/apimachinery/clock.ts', 'Date.now();'), []);
  t.same(directTime('cmd/orch/up.ts', 'choosePort(1, Math.random);'), []);
  t.same(directTime('cmd/orch/up.ts', 'setTimeout(f, 1);'), ['setTimeout']);
  t.same(directTime('pkg/a/b.ts', '// Date.now is refused\nsocket.setTimeout(1);\nnew Date(ms);\n'), []);
  t.end();
});
