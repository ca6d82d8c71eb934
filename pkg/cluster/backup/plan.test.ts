import t from 'tap';
import { dueInMs, outdated, readPlan } from '#cluster/backup/plan.js';

const plan = { everyMs: 1000, keep: 2, to: '/backups' };
const at = (ms: number) => ({ manifest: { time: new Date(ms).toISOString() } });

t.test('the next backup is due one period after the last', async (t) => {
  t.equal(dueInMs(plan, [], 5000), 0, 'the first at once');
  t.equal(dueInMs(plan, [at(4000), at(4600)], 5000), 600);
  t.equal(dueInMs(plan, [at(1000)], 5000), 0, 'a missed backup is due at once');
  t.equal(dueInMs(plan, [at(90_000)], 5000), 1000, 'at most one period, when the clock was set back');
});

t.test('the newest backups are kept, in any order', async (t) => {
  const [first, second, third] = [at(1000), at(2000), at(3000)];
  t.same(outdated(plan, [second, first, third]), [first]);
  t.same(outdated(plan, [first]), []);
});

t.test('a malformed plan is refused', async (t) => {
  const dir = t.testdir({
    good: JSON.stringify(plan),
    bad: '{"everyMs":0,"keep":1,"to":"x"}',
    none: 'null',
    torn: '{',
  });
  t.same(readPlan(`${dir}/good`), plan);
  t.equal(readPlan(`${dir}/missing`), undefined);
  for (const name of ['bad', 'none', 'torn']) t.throws(() => readPlan(`${dir}/${name}`), SyntaxError, name);
});
