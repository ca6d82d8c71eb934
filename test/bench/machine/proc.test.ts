import { test } from 'tap';
import { descendants, machineTimes, processTimes } from '#test/bench/machine/proc.js';

test('a process is parsed from its stat', async (t) => {
  const stat = '42 (a (strange) name) S 7 42 42 0 -1 4194560 1 2 3 4 100 20 3 1 20 0 11 0 5 6 7';
  t.same(processTimes(stat), { pid: 42, parent: 7, cpuMs: 1240, kernel: false });
  const thread = '2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 5 0 0 20 0 1 0 2 0 0';
  t.same(processTimes(thread), { pid: 2, parent: 0, cpuMs: 50, kernel: true });
});

test('all cores are parsed from /proc/stat', async (t) => {
  const stat = 'cpu  100 20 3 5000 600 7 8 9 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n';
  t.same(machineTimes(stat), { busyMs: 1230, stealMs: 90 });
  t.same(machineTimes(''), { busyMs: 0, stealMs: 0 }, 'a system without steal time');
});

test('descendants', async (t) => {
  const one = (pid: number, parent: number) => ({ pid, parent, cpuMs: 0, kernel: false });
  const all = [one(1, 0), one(5, 4), one(4, 3), one(3, 1), one(6, 3), one(9, 1)];
  t.same(
    descendants(all, 3).map(({ pid }) => pid),
    [3, 4, 6, 5],
  );
  t.same(descendants(all, 77), []);
});
