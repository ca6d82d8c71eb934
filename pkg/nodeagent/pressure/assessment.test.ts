import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import {
  assess,
  isReclaimed,
  noPressure,
  type Observations,
  type PressureState,
} from '#nodeagent/pressure/assessment.js';
import {
  type Signal,
  signalNames,
  type Threshold,
  type ThresholdConfig,
  thresholdAmount,
  thresholdsOf,
} from '#nodeagent/pressure/thresholds.js';

const minute = 60_000;
const none = { hard: {}, soft: {}, softGraceMs: {}, minimumReclaim: {}, enforcesAllocatable: false };

/** A node that is measured again and again. `observe` returns its conditions and the starved signals. */
function node(config: Partial<ThresholdConfig>, transitionMs = 5 * minute) {
  const thresholds = thresholdsOf({ ...none, ...config });
  let state: PressureState = noPressure;
  return (available: Partial<Record<Signal, number>>, nowMs: number, measuredMs = nowMs) => {
    const observations: Observations = Object.fromEntries(
      Object.entries(available).map(([signal, amount]) => [
        signal,
        { available: amount, capacity: 1000, timeMs: measuredMs },
      ]),
    );
    const result = assess({ thresholds, transitionMs, observations, state, nowMs });
    state = result.state;
    return { conditions: [...state.conditions], starved: result.starved.map(({ signal }) => signal) };
  };
}

const memory = (amount: number) => ({ 'memory.available': amount });

t.test('pressure starts at once and ends after the transition period', async (t) => {
  const observe = node({ hard: { 'memory.available': '100' } });
  const conditions = (available: number, nowMs: number) => observe(memory(available), nowMs).conditions;
  t.same(conditions(100, 0), []);
  t.same(conditions(99, minute), ['MemoryPressure']);
  t.same(conditions(500, 2 * minute), ['MemoryPressure'], 'it is over, but not for long');
  t.same(conditions(99, 5 * minute), ['MemoryPressure'], 'and here again: the period starts anew');
  t.same(conditions(500, 10 * minute - 1), ['MemoryPressure']);
  t.same(conditions(500, 10 * minute), []);
  t.same(conditions(99, 20 * minute), ['MemoryPressure'], 'a second time');
});

t.test('without a transition period pressure ends at once', async (t) => {
  const observe = node({ hard: { 'memory.available': '100' } }, 0);
  t.same(observe(memory(1), 0).conditions, ['MemoryPressure']);
  t.same(observe(memory(100), 1).conditions, []);
});

t.test('thresholds are compared with the observations of their signals', async (t) => {
  const rows: [
    name: string,
    config: Partial<ThresholdConfig>,
    signal: Signal,
    available: number,
    expected: string[],
  ][] = [
    ['percentage', { hard: { 'nodefs.available': '10%' } }, 'nodefs.available', 99, ['DiskPressure']],
    ['percentage, not crossed', { hard: { 'nodefs.available': '10%' } }, 'nodefs.available', 100, []],
    ['inodes', { hard: { 'nodefs.inodesFree': '5%' } }, 'nodefs.inodesFree', 49, ['DiskPressure']],
    ['images', { hard: { 'imagefs.available': '15%' } }, 'imagefs.available', 149, ['DiskPressure']],
    ['files of images', { hard: { 'imagefs.inodesFree': '15%' } }, 'imagefs.inodesFree', 149, ['DiskPressure']],
    ['process ids', { hard: { 'pid.available': '20%' } }, 'pid.available', 199, ['PIDPressure']],
    [
      'soft thresholds count at once',
      { soft: { 'memory.available': '10%' } },
      'memory.available',
      99,
      ['MemoryPressure'],
    ],
    ['switched off', { hard: { 'memory.available': '100%' } }, 'memory.available', 0, []],
    ['switched off', { hard: { 'memory.available': '0%' } }, 'memory.available', 0, []],
    ['not measured', { hard: { 'imagefs.available': '15%' } }, 'nodefs.available', 0, []],
    [
      'memory of all pods, by the hard threshold of the node',
      { hard: { 'memory.available': '100' }, enforcesAllocatable: true },
      'allocatableMemory.available',
      99,
      ['MemoryPressure'],
    ],
    [
      'memory of all pods, without a limit',
      { hard: { 'memory.available': '100' } },
      'allocatableMemory.available',
      99,
      [],
    ],
    [
      'memory of all pods, by a soft threshold',
      {
        soft: { 'memory.available': '100' },
        softGraceMs: { 'memory.available': minute },
        enforcesAllocatable: true,
      },
      'allocatableMemory.available',
      99,
      [],
    ],
  ];
  for (const [name, config, signal, available, expected] of rows)
    t.same(node(config)({ [signal]: available }, 0).conditions, expected, name);
});

t.test('a crossed threshold is cleared only after the minimum reclaim', async (t) => {
  const observe = node({ hard: { 'memory.available': '100' }, minimumReclaim: { 'memory.available': '50' } }, 0);
  const conditions = (available: number, nowMs: number) => observe(memory(available), nowMs).conditions;
  t.same(conditions(120, 0), [], 'never crossed');
  t.same(observe(memory(99), 1), { conditions: ['MemoryPressure'], starved: ['memory.available'] });
  t.same(observe(memory(149), 2), { conditions: ['MemoryPressure'], starved: ['memory.available'] });
  t.same(conditions(150, 3), []);
  t.same(conditions(120, 4), []);
  const percent = node({ hard: { 'memory.available': '100' }, minimumReclaim: { 'memory.available': '10%' } }, 0);
  percent(memory(99), 0);
  t.same(percent(memory(199), 1).starved, ['memory.available'], 'a percentage of the capacity');
  t.same(percent(memory(200), 2).starved, []);
});

t.test('a soft threshold starves only after its grace period, which begins anew each time', async (t) => {
  const observe = node({ soft: { 'memory.available': '100' }, softGraceMs: { 'memory.available': minute } });
  const starved = (available: number, nowMs: number) => observe(memory(available), nowMs).starved;
  t.same(starved(99, 0), []);
  t.same(starved(99, minute - 1), []);
  t.same(starved(99, minute), ['memory.available']);
  t.same(starved(100, minute + 1), []);
  t.same(starved(99, minute + 2), [], 'crossed again');
  t.same(starved(99, 2 * minute + 2), ['memory.available']);
});

t.test('before its grace period has passed, a threshold is resolved without the minimum reclaim', async (t) => {
  const observe = node(
    {
      soft: { 'memory.available': '100' },
      softGraceMs: { 'memory.available': minute },
      minimumReclaim: { 'memory.available': '50' },
    },
    0,
  );
  t.same(observe(memory(99), 0).conditions, ['MemoryPressure']);
  t.same(observe(memory(101), 1).conditions, []);
});

t.test('memory starves first, and only what was measured again', async (t) => {
  const observe = node({ hard: { 'nodefs.available': '10%', 'pid.available': '10%', 'memory.available': '10%' } });
  const all = { 'nodefs.available': 1, 'pid.available': 1, 'memory.available': 1 };
  t.same(observe(all, 0), {
    conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure'],
    starved: ['memory.available', 'nodefs.available', 'pid.available'],
  });
  t.same(observe(all, 10, 0).starved, [], 'old measurements');
  t.same(observe(all, 20).starved, ['memory.available', 'nodefs.available', 'pid.available']);
});

t.test('percentages are computed in single precision, as in 1.24', async (t) => {
  t.equal(thresholdAmount('10%', 107_374_182_400), 10_737_418_400, '160 bytes more than in double precision');
  t.equal(thresholdAmount('50%', 1001), 500);
  t.equal(thresholdAmount('100Mi', 1), 104_857_600);
  t.equal(thresholdAmount(undefined, 1), 0);
});

/** What the node should do, from its whole history and word for word after the documentation; slow. */
function reference(
  thresholds: readonly Threshold[],
  transitionMs: number,
  history: readonly Observations[],
  at: number[],
) {
  const last = history.length - 1;
  const below = (index: number, time: number, reclaim: boolean) => {
    const { signal, amount, minimumReclaim } = thresholds[index] as Threshold;
    const seen = history[time]?.[signal];
    if (seen === undefined) return false;
    return seen.available < Number(amount) + (reclaim ? Number(minimumReclaim ?? 0) : 0);
  };
  // For each time, whether each threshold is crossed, since when, and whether its grace period is over.
  const crossed: { since: number; due: boolean }[][] = [];
  for (let time = 0; time <= last; time++) {
    crossed.push(
      thresholds.map(({ graceMs }, index) => {
        const before = crossed[time - 1]?.[index];
        const holds = below(index, time, false) || (before?.due === true && below(index, time, true));
        const now = at[time] as number;
        const since = !holds ? Number.NaN : before !== undefined && !Number.isNaN(before.since) ? before.since : now;
        return { since, due: holds && now - since >= graceMs };
      }),
    );
  }
  const conditionNames = { memory: 'MemoryPressure', allocatableMemory: 'MemoryPressure', pid: 'PIDPressure' };
  const conditionOf = (signal: string) =>
    (conditionNames as Record<string, string>)[signal.split('.')[0] ?? ''] ?? 'DiskPressure';
  const conditions = ['MemoryPressure', 'DiskPressure', 'PIDPressure'].filter((condition) =>
    at.some(
      (time, i) =>
        (i === last || (at[last] as number) - time < transitionMs) &&
        thresholds.some(
          ({ signal }, index) => conditionOf(signal) === condition && !Number.isNaN(crossed[i]?.[index]?.since),
        ),
    ),
  );
  const due = thresholds.filter((_, index) => crossed[last]?.[index]?.due);
  const starved = due.filter(({ signal }) => {
    const [now, then] = [history[last]?.[signal], history[last - 1]?.[signal]];
    return now !== undefined && (then === undefined || now.timeMs > then.timeMs);
  });
  return { conditions, starved: new Set(starved), reclaimed: !thresholds.some((_, index) => below(index, last, true)) };
}

t.test('random nodes do what the rules say', async (t) => {
  const random = seededRandom(24);
  const int = (min: number, max: number) => min + Math.floor(random() * (max - min + 1));
  const pick = <T>(items: readonly [T, ...T[]]) => items[int(0, items.length - 1)] ?? items[0];
  const signals = signalNames as readonly [Signal, ...Signal[]];
  for (let round = 0; round < 300; round++) {
    const thresholds: Threshold[] = Array.from({ length: int(1, 6) }, () => ({
      signal: pick(signals),
      amount: String(int(1, 9)),
      graceMs: pick([0, 0, 30, 90]),
      ...(random() < 0.5 ? { minimumReclaim: String(int(0, 4)) } : {}),
    }));
    const transitionMs = pick([0, 50, 300]);
    const history: Observations[] = [];
    const at: number[] = [];
    let state: PressureState = noPressure;
    for (let step = 0; step < 20; step++) {
      const nowMs = (at.at(-1) ?? 0) + int(1, 60);
      const observations: Observations = Object.fromEntries(
        signalNames
          .filter(() => int(0, 9) > 0)
          .map((signal) => [
            signal,
            // Sometimes the last measurement counts once more.
            int(0, 9) > 0
              ? { available: int(0, 12), capacity: 20, timeMs: nowMs }
              : { available: int(0, 12), capacity: 20, timeMs: history.at(-1)?.[signal]?.timeMs ?? 0 },
          ]),
      );
      history.push(observations);
      at.push(nowMs);
      const result = assess({ thresholds, transitionMs, observations, state, nowMs });
      state = result.state;
      const expected = reference(thresholds, transitionMs, history, at);
      const actual = {
        conditions: state.conditions,
        starved: new Set(result.starved),
        reclaimed: isReclaimed(thresholds, observations),
      };
      if (JSON.stringify(describe(actual)) !== JSON.stringify(describe(expected))) {
        t.same(describe(actual), describe(expected), `round ${round}, step ${step}`);
        return;
      }
    }
  }
  t.pass('300 nodes');
});

function describe(result: { conditions: readonly string[]; starved: ReadonlySet<Threshold>; reclaimed: boolean }) {
  const starved = [...result.starved].map(({ signal, amount, graceMs }) => `${signal} ${amount} ${graceMs}`).sort();
  return { conditions: result.conditions, starved, reclaimed: result.reclaimed };
}
