import { test } from 'tap';
import { type Conditions, keepsPace, median, paceOf, starvation } from '#test/bench/machine/starvation.js';

const calibration = { alone: { wallMs: 2, cpuMs: 2 }, inCompany: { cpuMs: 3 } };
const quiet: Conditions = {
  before: { wallMs: 2.1, cpuMs: 2.1 },
  // The spins waited for the measured processes, which is expected.
  during: [
    { wallMs: 9, cpuMs: 3 },
    { wallMs: 20, cpuMs: 2.2 },
    { wallMs: 4, cpuMs: 3.2 },
  ],
  elapsedMs: 1000,
  stealMs: 10,
  othersMs: 40,
};

const cases: [name: string, changes: Partial<Conditions>, starved: ReturnType<typeof starvation>][] = [
  ['a quiet machine', {}, undefined],
  ['too short for spins', { during: [] }, undefined],
  ['the process was not on a core all the time', { before: { wallMs: 4, cpuMs: 2 } }, 'no whole core before it'],
  ['a slow core is a whole one', { before: { wallMs: 2.5, cpuMs: 2.5 } }, undefined],
  ['a neighbour on the same host', { stealMs: 90 }, 'stolen by the hypervisor'],
  ['a build beside it', { othersMs: 700 }, 'other processes'],
  ['a short one may miscount some ticks', { elapsedMs: 50, othersMs: 30, stealMs: 30 }, undefined],
  ['cores wander', { during: [{ wallMs: 5, cpuMs: 4 }] }, undefined],
  ['cores have half of their pace', { during: [{ wallMs: 9, cpuMs: 6 }] }, 'slow cores'],
  ['one slow spin among many', { during: [...quiet.during, { wallMs: 9, cpuMs: 9 }] }, undefined],
];

for (const [name, changes, starved] of cases) {
  test(name, async (t) => {
    t.equal(starvation(calibration, { ...quiet, ...changes }), starved);
  });
}

test('speed of a measurement, compared with the others', async (t) => {
  t.equal(paceOf(calibration, quiet), 1);
  t.equal(paceOf(calibration, { during: [{ wallMs: 9, cpuMs: 4 }] }), 0.75);
  t.equal(paceOf(calibration, { during: [] }), undefined);
  t.ok(keepsPace(0.75, 0.8));
  t.notOk(keepsPace(0.6, 0.8));
  t.notOk(keepsPace(1, 0.8));
  t.ok(keepsPace(undefined, 0.8));
  t.ok(keepsPace(0.7, Number.NaN));
});

test('median', async (t) => {
  t.equal(median([3, 1, 2]), 2);
  t.equal(median([4, 1, 2, 3]), 2.5);
  t.ok(Number.isNaN(median([])));
});
