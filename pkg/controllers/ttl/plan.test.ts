import t from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { nextStep, ttlPatch, ttlSecondsOf } from '#controllers/ttl/plan.js';

t.test('the time grows with the cluster, and shrinks later than it grew', (t) => {
  const rows: [before: number, nodes: number, ttlSeconds: number][] = [
    [0, 0, 0],
    [0, 100, 0],
    [0, 101, 15],
    [0, 500, 15],
    [0, 501, 30],
    [0, 1001, 60],
    [0, 2001, 300],
    [0, 10_001, 600],
    [0, 1_000_000, 600],
    [1, 90, 15],
    [1, 89, 0],
    [2, 450, 30],
    [2, 449, 15],
    [3, 900, 60],
    [3, 899, 30],
    [4, 1800, 300],
    [4, 1799, 60],
    [5, 9000, 600],
    [5, 8999, 300],
    [5, 0, 0],
  ];
  for (const [before, nodes, want] of rows) t.equal(ttlSecondsOf(nextStep(before, nodes)), want, `${before}: ${nodes}`);
  t.end();
});

t.test('a node is told once', (t) => {
  const name = orchDialect.annotations.nodeTTL;
  const rows: [annotation: string | undefined, changes: boolean][] = [
    [undefined, true],
    ['', true],
    ['0', true],
    ['15s', true],
    ['15', false],
    ['+15', false],
  ];
  for (const [annotation, changes] of rows) {
    const annotations = annotation === undefined ? undefined : { [name]: annotation };
    const patch = ttlPatch({ metadata: { name: 'a', annotations: annotations ?? {} }, spec: {} }, 1, orchDialect);
    t.same(patch, changes ? { metadata: { annotations: { [name]: '15' } } } : undefined, String(annotation));
  }
  t.end();
});
