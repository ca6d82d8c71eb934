import t from 'tap';
import { feasibleNodesToFind } from '#scheduler/decision/algorithm.js';

t.test('limits the number of fitting nodes', (t) => {
  const rows: [nodes: number, percentage: number, want: number][] = [
    [99, 0, 99],
    [99, 10, 99],
    [1000, 0, 420],
    [1000, 30, 300],
    [1000, 5, 100],
    [1000, 100, 1000],
    [5000, 0, 500],
    [6000, 0, 300],
  ];
  for (const [nodes, percentage, want] of rows) t.equal(feasibleNodesToFind(nodes, percentage), want);
  t.end();
});
