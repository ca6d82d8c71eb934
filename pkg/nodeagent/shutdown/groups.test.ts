import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { graceSecondsIn, shutdownGroups, shutdownPeriods, totalPeriodMs } from '#nodeagent/shutdown/groups.js';

const pod = (name: string, priority?: number, graceSeconds?: number): Pod => ({
  metadata: { name },
  spec: {
    containers: [],
    ...(priority === undefined ? {} : { priority }),
    ...(graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: graceSeconds }),
  },
});
const period = (priority: number, graceSeconds: number) => ({ priority, graceSeconds });
const critical = 2_000_000_000;

t.test('the periods of a configuration, the lowest priority first', async (t) => {
  const rows = [
    [0, 0, [], []],
    [30, 10, [], [period(0, 20), period(critical, 10)]],
    [30, 0, [], [period(0, 30), period(critical, 0)]],
    [30, 30, [], [period(0, 0), period(critical, 30)]],
    [1.5, 1, [], [period(0, 0), period(critical, 1)]],
    [0, 0, [period(100, 3), period(-5, 1), period(0, 2)], [period(-5, 1), period(0, 2), period(100, 3)]],
    [30, 10, [period(1, 7)], [period(1, 7)]],
  ] as const;
  for (const [total, ofCritical, byPriority, expected] of rows) {
    const settings = { gracePeriodMs: total * 1000, criticalPodsMs: ofCritical * 1000, byPriority };
    t.same(shutdownPeriods(settings), expected, JSON.stringify(settings));
  }
  t.equal(totalPeriodMs([period(0, 20), period(1, 10)]), 30_000, 'the sum of all periods');
});

t.test('a pod is in the group of the highest priority that is not above its own', async (t) => {
  const periods = [period(0, 1), period(100, 2), period(100_000, 3)];
  const rows = [
    [undefined, 0],
    [-1, 0],
    [0, 0],
    [99, 0],
    [100, 1],
    [99_999, 1],
    [100_000, 2],
    [critical, 2],
  ] as const;
  for (const [priority, index] of rows) {
    const groups = shutdownGroups(periods, [pod('a', priority)]);
    t.same(
      groups.map(({ pods }) => pods.length),
      [0, 1, 2].map((i) => (i === index ? 1 : 0)),
      `priority ${priority}`,
    );
  }
  const [first] = shutdownGroups([period(50, 1), period(50, 9)], [pod('a', 50)]);
  t.equal(first?.pods.length, 1, 'of equal priorities the first');
});

t.test('a pod has the shorter one of its grace period and that of its group', async (t) => {
  t.equal(graceSecondsIn(period(0, 10), pod('a', 0, 30)), 10, 'the group');
  t.equal(graceSecondsIn(period(0, 10), pod('a', 0, 5)), 5, 'the pod');
  t.equal(graceSecondsIn(period(0, 10), pod('a', 0, 0)), 0, 'no grace');
  t.equal(graceSecondsIn(period(0, 10), pod('a')), 10, 'a pod without one');
});
