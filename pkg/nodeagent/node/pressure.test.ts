import t from 'tap';
import { type PressureOptions, PressureTracker } from '#nodeagent/node/pressure.js';

const minute = 60_000;
const none = { memory: false, disk: false, pid: false };

function tracker(options: Partial<PressureOptions>) {
  return new PressureTracker({ hard: {}, soft: {}, minimumReclaim: {}, transitionMs: 5 * minute, ...options });
}

const memory = (available: number) => ({ 'memory.available': { available, capacity: 1000 } });

t.test('pressure starts at once and ends after the transition period', async (t) => {
  const pressure = tracker({ hard: { 'memory.available': '100' } });
  t.same(pressure.observe(memory(100), 0), none);
  t.same(pressure.observe(memory(99), minute), { ...none, memory: true });
  t.same(pressure.observe(memory(500), 2 * minute), { ...none, memory: true }, 'it is over, but not for long');
  t.same(pressure.observe(memory(99), 5 * minute), { ...none, memory: true }, 'and here again: the period starts anew');
  t.same(pressure.observe(memory(500), 10 * minute - 1), { ...none, memory: true });
  t.same(pressure.observe(memory(500), 10 * minute), none);
});

t.test('without a transition period pressure ends at once', async (t) => {
  const pressure = tracker({ hard: { 'memory.available': '100' }, transitionMs: 0 });
  t.equal(pressure.observe(memory(1), 0).memory, true);
  t.equal(pressure.observe(memory(100), 1).memory, false);
});

t.test('thresholds are compared with the readings of their signals', async (t) => {
  const rows: [name: string, options: Partial<PressureOptions>, signal: string, available: number, expected: object][] =
    [
      ['percentage', { hard: { 'nodefs.available': '10%' } }, 'nodefs.available', 99, { disk: true }],
      ['percentage, not crossed', { hard: { 'nodefs.available': '10%' } }, 'nodefs.available', 100, { disk: false }],
      ['inodes', { hard: { 'nodefs.inodesFree': '5%' } }, 'nodefs.inodesFree', 49, { disk: true }],
      ['images', { hard: { 'imagefs.available': '15%' } }, 'imagefs.available', 149, { disk: true }],
      ['process ids', { hard: { 'pid.available': '20%' } }, 'pid.available', 199, { pid: true }],
      [
        'soft thresholds count at once, as in 1.24',
        { soft: { 'memory.available': '10%' } },
        'memory.available',
        99,
        { memory: true },
      ],
      ['switched off', { hard: { 'memory.available': '100%' } }, 'memory.available', 0, { memory: false }],
      ['not measured', { hard: { 'imagefs.available': '15%' } }, 'nodefs.available', 0, { disk: false }],
    ];
  for (const [name, options, signal, available, expected] of rows)
    t.match(tracker(options).observe({ [signal]: { available, capacity: 1000 } }, 0), expected, name);
});

t.test('a crossed threshold is cleared only after the minimum reclaim', async (t) => {
  const pressure = tracker({
    hard: { 'memory.available': '100' },
    minimumReclaim: { 'memory.available': '50' },
    transitionMs: 0,
  });
  t.equal(pressure.observe(memory(120), 0).memory, false, 'never crossed');
  t.equal(pressure.observe(memory(99), 1).memory, true);
  t.equal(pressure.observe(memory(149), 2).memory, true);
  t.equal(pressure.observe(memory(150), 3).memory, false);
  t.equal(pressure.observe(memory(120), 4).memory, false);
});
