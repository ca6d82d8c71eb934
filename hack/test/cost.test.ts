import { spawnSync } from 'node:child_process';
import t from 'tap';
import { ChildrenCpu, costLines, cpuSecondsOfChildren } from './cost.js';

t.test('the time of children stands behind a name that may contain anything', async (t) => {
  t.equal(cpuSecondsOfChildren('7 (a) b (c) S 1 7 7 0 -1 4194304 1 2 3 4 500 600 1234 66 20 0 1 0'), 13);
});

t.test(
  'children that ended count, with their own',
  { skip: process.platform !== 'linux' && 'Linux only' },
  async (t) => {
    const cpu = new ChildrenCpu();
    spawnSync('sh', ['-c', `'${process.execPath}' -e 'while (process.cpuUsage().user < 150_000);'; true`]);
    t.ok(cpu.takeSeconds() > 0.1);
    t.equal(cpu.takeSeconds(), 0);
  },
);

t.test('the dearest come first, and the sum last', async (t) => {
  const cost = (name: string, cpuSeconds: number) => ({ name, cpuSeconds, seconds: 2 });
  t.same(costLines([cost('a', 1), cost('b', 30.06), cost('c', 3)], cost('the machine', 50), 2), [
    '#    30.1 s of CPU     2.0 s  b',
    '#     3.0 s of CPU     2.0 s  c',
    '#    34.1 s of CPU     6.0 s  all 3',
    '#    50.0 s of CPU     2.0 s  the machine',
  ]);
});
